import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { BUNDLE_OPTIONS } from "../../../infra/functions/build.ts";
import { atMost, atMostBaseline } from "../budgets.ts";
import { distributionOf, type Figure } from "../figures.ts";
import type { Job } from "../job.ts";
import { distributionIn, runInTurns } from "../rounds.ts";
import { startChild } from "../servers/child.ts";

const manifest: { readonly dependencies: object } = JSON.parse(
  readFileSync(new URL("../../../package.json", import.meta.url), "utf8"),
);
const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

/** The size of the function's bundle, and its import time. */
export const bundle: Job = {
  id: "bundle",
  async run({ folder, quick, log }) {
    const files = { ours: join(folder, "ours.mjs"), client: join(folder, "client.mjs") };
    const [ours, client] = [
      await buildBundle(OUR_ENTRY, BUNDLE_OPTIONS),
      await buildBundle(CLIENT_ENTRY, { ...BUNDLE_OPTIONS, plugins: [] }),
    ];
    await Promise.all([writeFile(files.ours, ours), writeFile(files.client, client)]);
    const samples = await runInTurns(["ours", "client"] as const, quick ? 5 : 15, async (name, round) => {
      log(`bundle: import ${round + 1}, ${name}`);
      const child = startChild(new URL("../servers/import-time.ts", import.meta.url), [files[name]], {
        STORE_ORDERS_DYNAMODB: "bench",
        AWS_REGION: "eu-central-1",
      });
      const time = await child.nextMessage<number>();
      await child.end();
      return { time };
    });
    const size: Figure = {
      name: "size, minified",
      unit: "KiB",
      better: "less",
      ours: distributionOf([ours.length / 1024]),
      baseline: distributionOf([client.length / 1024]),
    };
    const time: Figure = {
      name: "import",
      unit: "ms",
      better: "less",
      ours: distributionIn(samples, "ours", "time"),
      baseline: distributionIn(samples, "client", "time"),
    };
    const dependencies: Figure = {
      name: "packages that the rules need",
      unit: "",
      better: "less",
      ours: distributionOf([Object.keys(manifest.dependencies).length]),
    };
    return {
      title: "Function bundle",
      figures: [
        { ...size, verdict: atMost(250)(size) },
        { ...time, verdict: atMostBaseline(1.2)(time) },
        {
          ...dependencies,
          verdict: {
            budget: "zod, tldts, @noble/hashes",
            met: `${Object.keys(manifest.dependencies).sort()}` === "@noble/hashes,tldts,zod",
          },
        },
      ],
      notes: [
        "Baseline: the AWS client alone with the commands that the store uses, bundled like the function. Each import in a fresh process.",
      ],
    };
  },
};

const OUR_ENTRY = `export * from "./infra/functions/entry.ts";`;

const CLIENT_ENTRY = `
  import { BatchGetItemCommand, DynamoDBClient, GetItemCommand, PutItemCommand, QueryCommand, ScanCommand, UpdateItemCommand }
    from "@aws-sdk/client-dynamodb";
  export const client = new DynamoDBClient({});
  export const calls = [BatchGetItemCommand, GetItemCommand, PutItemCommand, QueryCommand, ScanCommand, UpdateItemCommand];`;

async function buildBundle(contents: string, options: typeof BUNDLE_OPTIONS): Promise<Uint8Array> {
  const { outputFiles } = await build({
    ...options,
    absWorkingDir: ROOT,
    stdin: { contents, resolveDir: ROOT, loader: "ts" },
  });
  return outputFiles[0]?.contents ?? new Uint8Array();
}
