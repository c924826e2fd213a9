import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildFunctions, bundling, type FunctionBundle } from "../../../infra/functions/build.ts";

const MOST_KIB = 400;
const MOST_TIMES_THE_CLIENT = 1.2;

let bundle: FunctionBundle;
let folder: string;
beforeAll(async () => {
  bundle = await buildFunctions();
  folder = mkdtempSync(join(tmpdir(), "store-orders-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

describe("the bundle of the functions", () => {
  test(`is at most ${MOST_KIB} KiB`, () => {
    expect(Buffer.byteLength(bundle["entry.mjs"]) / 1024).toBeLessThanOrEqual(MOST_KIB);
  });

  test("leads back to the sources, and tells nothing of the machine that built it", () => {
    const map = JSON.parse(bundle["entry.mjs.map"]);
    expect(new SourceMap(map).payload.sources).toContain("lib/http/handler.ts");
    expect(bundle["entry.mjs"]).toMatch(/\/\/# sourceMappingURL=entry\.mjs\.map\n$/);
    for (const text of Object.values(bundle)) expect(text).not.toContain(process.cwd());
  });

  test("is the same bytes every time, wherever it is built", async () => {
    const before = process.cwd();
    process.chdir(tmpdir());
    try {
      expect(await buildFunctions()).toEqual(bundle);
    } finally {
      process.chdir(before);
    }
  });

  test(`takes at most ${MOST_TIMES_THE_CLIENT} times as long to import as the AWS client alone`, async () => {
    const alone = await build({
      ...bundling,
      stdin: {
        contents: `export { DynamoDBClient, GetItemCommand, PutItemCommand, QueryCommand, ScanCommand,
          UpdateItemCommand } from "@aws-sdk/client-dynamodb";`,
        resolveDir: process.cwd(),
      },
      outfile: "client.mjs",
    });
    writeFileSync(join(folder, "client.mjs"), alone.outputFiles[0]?.text ?? "");
    writeFileSync(join(folder, "entry.mjs"), bundle["entry.mjs"]);
    const best = { client: Infinity, entry: Infinity };
    // In turns, so that both meet the same machine, until the best of each has come out.
    for (let round = 0; round < 20; round++) {
      best.client = Math.min(best.client, importTime("client.mjs"));
      best.entry = Math.min(best.entry, importTime("entry.mjs"));
      if (round >= 4 && best.entry <= MOST_TIMES_THE_CLIENT * best.client) break;
    }
    expect(best.entry / best.client).toBeLessThanOrEqual(MOST_TIMES_THE_CLIENT);
  });
});

/** The processor's time that a process of its own takes to import a file: the clock's depends on who else runs. */
function importTime(name: string): number {
  const url = pathToFileURL(join(folder, name)).href;
  const program = `
    const before = process.cpuUsage();
    await import("${url}");
    const { user, system } = process.cpuUsage(before);
    console.log(user + system);`;
  const env = { STORE_ORDERS_DYNAMODB: "shop" };
  return Number(execFileSync(process.execPath, ["--input-type=module", "--eval", program], { env }));
}
