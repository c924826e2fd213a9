import { execFileSync, spawnSync } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { SourceMap } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { buildFunctions } from "../../../infra/functions/build.ts";

const MAX_KIB = 270;

let bundle: Awaited<ReturnType<typeof buildFunctions>>;
beforeAll(async () => {
  bundle = await buildFunctions();
});

describe("the function bundle", () => {
  test("what is loaded on demand is a file of its own, so that it costs nothing otherwise", () => {
    const modules = ["entry", "openapi", "v2-preview"];
    expect(Object.keys(bundle).toSorted()).toEqual(
      modules.flatMap((name) => [`${name}.mjs`, `${name}.mjs.map`]),
    );
    const { "entry.mjs": entry } = bundle;
    for (const name of ["openapi", "v2-preview"]) expect(entry).toContain(`import("./${name}.mjs")`);
    for (const name of ["pageOrders", "Machine-readable error code"]) expect(entry).not.toContain(name);
  });

  test(`the function bundle is at most ${MAX_KIB} KiB`, () => {
    expect(Buffer.byteLength(bundle["entry.mjs"] ?? "") / 1024).toBeLessThanOrEqual(MAX_KIB);
  });

  test("its source map, which is not deployed, finds the line of a stack trace in the sources", async () => {
    const folder = await newFolder("trace");
    await writeFile(join(folder, "entry.mjs"), bundle["entry.mjs"] ?? "");
    const { stderr } = spawnSync(process.execPath, [join(folder, "entry.mjs")], {
      encoding: "utf8",
      env: {},
    });
    expect(stderr).toContain("STORE_ORDERS_DYNAMODB is not set");
    const [, line, column] = /entry\.mjs:(\d+):(\d+)\)?$/m.exec(stderr.slice(stderr.indexOf("at "))) ?? [];
    const origin = new SourceMap(JSON.parse(bundle["entry.mjs.map"] ?? "")).findOrigin(
      Number(line),
      Number(column),
    );
    if (!("fileName" in origin)) throw new Error(`The map has no origin of ${line}:${column}.`);
    expect(origin.fileName).toBe("infra/functions/entry.ts");
    const source = (await readFile(origin.fileName, "utf8")).split("\n")[origin.lineNumber - 1];
    expect(source).toContain("throw new Error");
  });

  test("it contains no path of the machine that built it, and no link to its map", () => {
    for (const text of Object.values(bundle)) {
      expect(text).not.toContain(process.cwd());
      expect(text).not.toContain("sourceMappingURL");
    }
  });
});

test("a program that deploys the functions builds the same anywhere, and leaves nothing behind, neither where it runs nor among temporary files", async () => {
  const [folder, temporary] = await Promise.all(["program", "temporary"].map(newFolder));
  const functions = new URL("../../../infra/functions/", import.meta.url);
  const program = `
    import { existsSync } from "node:fs";
    const { buildFunctions } = await import("${functions}build.ts");
    const { functionCode } = await import("${functions}function.ts");
    const { assets } = await functionCode();
    for (const { path } of Object.values(await assets)) console.log(await path, existsSync(await path));
    console.log(JSON.stringify(await buildFunctions()));`;
  const output = execFileSync(process.execPath, ["--input-type=module", "--eval", program], {
    cwd: folder,
    env: { ...process.env, TMPDIR: temporary },
    encoding: "utf8",
    maxBuffer: 1e8,
  });
  const lines = output.trim().split("\n");
  expect(JSON.parse(lines.pop() ?? "")).toEqual(bundle);
  expect(lines).toHaveLength(3);
  for (const line of lines) expect(line).toMatch(new RegExp(`^${temporary}/store-orders-.* true$`));
  expect(await readdir(String(folder))).toEqual([]);
  expect(await readdir(String(temporary))).toEqual([]);
});

async function newFolder(name: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), `store-orders-${name}-`));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}
