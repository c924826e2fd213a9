import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { buildFunctions } from "../../../infra/functions/build.ts";
import { createAccounts, type IssuedKey } from "../../../lib/accounts/accounts.ts";
import { createDynamodbStore, createDynamodbTables } from "../../../lib/stores/dynamodb/index.ts";
import { baseEnvironment, waitForExit } from "../../support/command-line.ts";
import { clientFor, type Emulator, environmentFor, startEmulator } from "../../support/dynamodb/emulator.ts";
import { listenOn } from "../../support/free-port.ts";

let emulator: Emulator;
let key = "";
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "store-orders-cold-"));
  for (const [file, content] of Object.entries(await buildFunctions({ events: true })))
    await writeFile(join(folder, file), content);
  emulator = await startEmulator("all-old");
  const client = clientFor(emulator.endpoint);
  await createDynamodbTables({ prefix: "cold", client });
  const store = createDynamodbStore({ prefix: "cold", client });
  await store.orders.place([1n, 2n].map((id) => ({ record: { id }, status: "pending" })));
  const accounts = createAccounts({ store: store.accounts, environment: "test" });
  await accounts.create("acme", { plan: "pro" });
  key = ((await accounts.issueKey("acme")) as IssuedKey).key;
  client.destroy();
});
afterAll(async () => {
  await emulator.stop();
  await rm(folder, { recursive: true });
});

interface Seen {
  readonly loadMs: number;
  /** The connections when it has loaded. */
  readonly connections: number;
  readonly status: number;
  readonly body: string;
  readonly stderr: string;
  /** The modules of Node's `fetch` that were loaded. */
  readonly fetch: readonly string[];
}

/** Loads a function in a process of its own, and sends it one request. */
async function start(role: "api" | "list" | "events", endpoint = emulator.endpoint): Promise<Seen> {
  const { server, address } = await countConnections(endpoint);
  const [file = "", request] = {
    api: [
      "entry.mjs",
      "const { statusCode: status, body } = await api(event('DELETE', '/v1/store/orders/1'));",
    ],
    list: [
      "entry.mjs",
      `const chunks = [];
      const write = (chunk, _, done) => done(void chunks.push(chunk));
      await list(event('GET', '/v1/store/orders'), new Writable({ write }));
      const [status, body] = [200, chunks.join("")];`,
    ],
    events: [
      "events.mjs",
      "await handler({}, { getRemainingTimeInMillis: () => 5_000 }); const [status, body] = [204, ''];",
    ],
  }[role];
  const program = `
    import { Writable } from "node:stream";
    const told = (state) => (process.send(state), new Promise((resolve) => process.once("message", resolve)));
    const event = (httpMethod, path) => ({ httpMethod, path, requestContext: {},
      multiValueHeaders: { Authorization: ["Bearer ${key}"], "Content-Type": ["application/json"] } });
    const startedAt = performance.now();
    const { api, list, handler } = await import(${JSON.stringify(pathToFileURL(join(folder, file)).href)});
    const loadMs = performance.now() - startedAt;
    const connections = await told("loaded");
    ${request}
    const fetch = process.moduleLoadList.filter((name) => /undici|fetch/.test(name));
    process.send({ loadMs, connections, status, body, fetch });
    process.exit();`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    env: {
      ...baseEnvironment(),
      ...environmentFor(address),
      STORE_ORDERS_DYNAMODB: "cold",
      STORE_ORDERS_BUS: "default",
    },
  });
  let connections = 0;
  server.on("connection", () => connections++);
  let seen: Seen | undefined;
  child.on("message", (message) => {
    if (typeof message === "object") seen = message as Seen;
    else child.send(connections);
  });
  const { status, stderr } = await waitForExit(child as ChildProcessWithoutNullStreams);
  if (seen === undefined) throw new Error(`The function ended with ${status}: ${stderr}`);
  return { ...seen, stderr };
}

async function countConnections(endpoint: string): Promise<{ server: Server; address: string }> {
  const { port } = new URL(endpoint);
  const server = createServer((socket) => {
    const upstream = connect(Number(port), "127.0.0.1");
    for (const each of [socket, upstream])
      each.on("error", () => {}).on("close", () => [socket, upstream].map((end) => end.destroy()));
    socket.pipe(upstream).pipe(socket);
  });
  onTestFinished(() => void server.close());
  return { server, address: `http://127.0.0.1:${await listenOn(server)}` };
}

describe("a function that starts", () => {
  test.each([
    ["api", 204, ""],
    ["list", 200, '[{"id":1},{"id":2}]'],
  ] as const)("%s connects while it loads, and never loads Node's fetch", async (role, status, body) => {
    const { connections, fetch, ...answer } = await start(role);
    expect(connections).toBe(1);
    expect(answer).toMatchObject({ status, body });
    expect(fetch).toEqual([]);
  });

  test("events never loads Node's fetch, and warns of nothing when its time is almost over", async () => {
    expect(await start("events")).toMatchObject({ fetch: [], stderr: "" });
  });

  test("loads while DynamoDB does not respond, without waiting for it longer than half a second", async () => {
    const silent = createServer(() => {});
    onTestFinished(() => void silent.close());
    const { loadMs, body } = await start("api", `http://127.0.0.1:${await listenOn(silent)}`);
    // A call ends after four seconds.
    expect(loadMs).toBeLessThan(3_500);
    expect(JSON.parse(body).code).toBe("store_unavailable");
  });

  test("loads while DynamoDB refuses connections", async () => {
    const { body } = await start("api", "http://127.0.0.1:1");
    expect(JSON.parse(body).code).toBe("store_unavailable");
  });
});
