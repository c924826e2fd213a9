import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { startChild } from "../../support/child.ts";
import { orderAt } from "../fixture.ts";
import { inTurns, type Samples } from "../rounds.ts";
import { BASE_COMMIT, SDK_ALONE } from "../servers/candidates.ts";
import { sourcesOf } from "../servers/sources.ts";
import { type Bench, PREFIX, startFilledEmulator } from "../servers/stages.ts";
import { startTls } from "../servers/tls.ts";

/** Each round takes a few hundred milliseconds. */
const ROUNDS_FACTOR = 3;

/** What Lambda gives to the requests of a function with 512 MiB, in cores. A function that loads has a whole one. */
const SHARE = 0.29;

/**
 * Fresh processes that load the function, as it is deployed, and serve one request, over TLS: now, at an earlier commit,
 * and the DynamoDB client of the AWS SDK alone, which makes one call. Figures are processor time, of which Lambda limits
 * how much a request gets, so that other work on the machine changes little.
 */
export async function bundle({ folder, rounds, log }: Bench): Promise<Samples> {
  const candidates = await bundles(folder);
  const names = Object.keys(candidates);
  const count = rounds * ROUNDS_FACTOR;
  const { key, environment, stop } = await startFilledEmulator(names.length * count);
  const tls = await startTls(folder, environment.AWS_ENDPOINT_URL);
  const program = new URL("../servers/function-process.ts", import.meta.url);
  let next = 0;

  /** The processor time of the load and of the first request. */
  async function measure(
    name: string,
    role: "api" | "list",
  ): Promise<readonly [full: number, share: number]> {
    const { file = "", flags } = candidates[name] ?? {};
    const order = role === "api" ? `${orderAt(next++).record.id}` : "";
    const variables = {
      ...environment,
      ...tls.environment,
      STORE_ORDERS_DYNAMODB: PREFIX,
      // Lambda has no compile cache.
      NODE_COMPILE_CACHE: "",
    };
    const child = startChild(program, [file, key, order], variables, flags);
    const [load, first] = await child.nextMessage<readonly [number, number]>();
    await child.end();
    return [load + first, load + first / SHARE];
  }

  try {
    return await inTurns(names, count, async (name, round) => {
      log(`round ${round + 1} of ${count}, ${name}`);
      const [cancel, cancelShare] = await measure(name, "api");
      const [list, listShare] = await measure(name, "list");
      return { cancel, list, cancelShare, listShare };
    });
  } finally {
    tls.stop();
    await stop();
  }
}

/** The module of each candidate, with the flags of its process. */
async function bundles(folder: string) {
  const now = fileURLToPath(new URL("../../..", import.meta.url));
  const before = sourcesOf(BASE_COMMIT);
  return {
    ours: { file: await bundleFunctions(now, folder), flags: [] },
    [BASE_COMMIT]: { file: await bundleFunctions(before, folder), flags: ["--enable-source-maps"] },
    [SDK_ALONE]: { file: await bundleSdk(before, folder), flags: [] },
  } as Readonly<Record<string, { readonly file: string; readonly flags: readonly string[] }>>;
}

const buildOf = (project: string) => import(pathToFileURL(join(project, "infra/functions/build.ts")).href);

/** Bundles the functions of a copy of the project, and returns the module. */
async function bundleFunctions(project: string, folder: string): Promise<string> {
  const { buildFunctions } = await buildOf(project);
  const target = mkdtempSync(join(folder, "functions-"));
  for (const [file, content] of Object.entries<string>(await buildFunctions()))
    writeFileSync(join(target, file), content);
  return join(target, "entry.mjs");
}

/** The client of the SDK alone, bundled as the earlier functions were. */
async function bundleSdk(project: string, folder: string): Promise<string> {
  const { BUNDLE_OPTIONS } = await buildOf(project);
  const { build } = await import("esbuild");
  const file = join(folder, "sdk.mjs");
  const key = JSON.stringify({ id: { S: "unit" } });
  const contents = `
    import { DynamoDBClient, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
    const client = new DynamoDBClient({});
    const input = { TableName: "${PREFIX}-accounts", Key: ${key}, UpdateExpression: "SET a = :a",
      ExpressionAttributeValues: { ":a": { N: "1" } } };
    const call = () => client.send(new UpdateItemCommand(input));
    export const api = async () => ({ statusCode: 204, ...(await call()) });
    export const list = async (_event, stream) => void stream.write(JSON.stringify(await call()));`;
  await build({ ...BUNDLE_OPTIONS, stdin: { contents, resolveDir: project }, outfile: file, write: true });
  return file;
}
