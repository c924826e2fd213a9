import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type BuildOptions, build } from "esbuild";
import { atMost, atMostFloor } from "../budgets.ts";
import { type Figure, spreadOf } from "../figures.ts";
import type { Job } from "../job.ts";
import { spreadIn, takeTurns } from "../rounds.ts";
import { startChild } from "../servers/child.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

/** How large the function's bundle is, and how long it takes to import. */
export const bundle: Job = {
  id: "bundle",
  async run({ folder, quick, tell }) {
    const files = { ours: join(folder, "ours.mjs"), client: join(folder, "client.mjs") };
    const [ours, client] = [await bundled(ENTRY), await bundled(CLIENT_ALONE)];
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
    return {
      title: "Function bundle",
      figures: [
        { ...size, verdict: atMost(400)(size) },
        { ...time, verdict: atMostFloor(1.2)(time) },
      ],
      notes: [
        "Floor: the AWS client alone, made with the same calls that the store makes, bundled alike. Each import in a fresh process.",
        DEPLOYED
          ? "The bundle is the one that is deployed."
          : "There is no entry to deploy in this tree: the handler over the DynamoDB store stands in for it.",
      ],
    };
  },
};

/** As it is deployed: one ES module for Node 24 that needs nothing beside it. */
const BUNDLING = {
  bundle: true,
  write: false,
  format: "esm",
  platform: "node",
  target: "node24",
  mainFields: ["module", "main"],
  minify: true,
  legalComments: "none",
  absWorkingDir: ROOT,
} as const satisfies BuildOptions;

const DEPLOYED = existsSync(join(ROOT, "infra/functions/entry.ts"));

const ENTRY = DEPLOYED
  ? `export * from "./infra/functions/entry.ts";`
  : `import { createHandler } from "./lib/http/handler.ts";
     import { createBufferedFunction, createStreamingFunction } from "./lib/runtimes/lambda.ts";
     import { createDynamodbStore } from "./lib/stores/dynamodb.ts";
     const handler = createHandler({ store: createDynamodbStore({ prefix: "bench" }) });
     export const api = createBufferedFunction({ handler });
     export const list = createStreamingFunction({ handler });`;

const CLIENT_ALONE = `
  import { DynamoDBClient, GetItemCommand, PutItemCommand, QueryCommand, ScanCommand, UpdateItemCommand }
    from "@aws-sdk/client-dynamodb";
  export const client = new DynamoDBClient({});
  export const calls = [GetItemCommand, PutItemCommand, QueryCommand, ScanCommand, UpdateItemCommand];`;

async function bundled(contents: string): Promise<Uint8Array> {
  const { outputFiles } = await build({ ...BUNDLING, stdin: { contents, resolveDir: ROOT, loader: "ts" } });
  return outputFiles[0]?.contents ?? new Uint8Array();
}
