import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { BUNDLE_OPTIONS } from "../../../infra/functions/build.ts";
import { atMost, atMostFloor } from "../budgets.ts";
import { type Figure, spreadOf } from "../figures.ts";
import type { Job } from "../job.ts";
import { spreadIn, takeTurns } from "../rounds.ts";
import { startChild } from "../servers/child.ts";

const manifest: { readonly dependencies: object } = JSON.parse(
  readFileSync(new URL("../../../package.json", import.meta.url), "utf8"),
);
const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

/** How large the function's bundle is, and how long it takes to import. */
export const bundle: Job = {
  id: "bundle",
  async run({ folder, quick, tell }) {
    const files = { ours: join(folder, "ours.mjs"), client: join(folder, "client.mjs") };
    const [ours, client] = [await bundled(DEPLOYED), await bundled(CLIENT_ALONE)];
    await Promise.all([writeFile(files.ours, ours), writeFile(files.client, client)]);
    const samples = await takeTurns(["ours", "client"] as const, quick ? 5 : 15, async (name, round) => {
      tell(`bundle: import ${round + 1}, ${name}`);
      const child = startChild(new URL("../servers/import-time.ts", import.meta.url), [files[name]], {
        STORE_ORDERS_DYNAMODB: "bench",
        AWS_REGION: "eu-central-1",
      });
      const time = await child.told<number>();
      await child.end();
      return { time };
    });
    const size: Figure = {
      what: "size, minified",
      unit: "KiB",
      better: "less",
      ours: spreadOf([ours.length / 1024]),
      floor: spreadOf([client.length / 1024]),
    };
    const time: Figure = {
      what: "import",
      unit: "ms",
      better: "less",
      ours: spreadIn(samples, "ours", "time"),
      floor: spreadIn(samples, "client", "time"),
    };
    const needed: Figure = {
      what: "packages that the rules need",
      unit: "",
      better: "less",
      ours: spreadOf([Object.keys(manifest.dependencies).length]),
    };
    return {
      title: "Function bundle",
      figures: [
        { ...size, verdict: atMost(400)(size) },
        { ...time, verdict: atMostFloor(1.2)(time) },
        {
          ...needed,
          verdict: {
            budget: "zod and tldts",
            met: `${Object.keys(manifest.dependencies).sort()}` === "tldts,zod",
          },
        },
      ],
      notes: [
        "Floor: the AWS client alone, made with the same calls that the store makes, bundled as the function is. Each import in a fresh process.",
      ],
    };
  },
};

const DEPLOYED = `export * from "./infra/functions/entry.ts";`;

const CLIENT_ALONE = `
  import { DynamoDBClient, GetItemCommand, PutItemCommand, QueryCommand, ScanCommand, UpdateItemCommand }
    from "@aws-sdk/client-dynamodb";
  export const client = new DynamoDBClient({});
  export const calls = [GetItemCommand, PutItemCommand, QueryCommand, ScanCommand, UpdateItemCommand];`;

async function bundled(contents: string): Promise<Uint8Array> {
  const { outputFiles } = await build({
    ...BUNDLE_OPTIONS,
    absWorkingDir: ROOT,
    stdin: { contents, resolveDir: ROOT, loader: "ts" },
  });
  return outputFiles[0]?.contents ?? new Uint8Array();
}
