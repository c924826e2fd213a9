/**
 * The size of the code, and how far a reader walks to follow a request: `npm run structure`. Counts the lines of code
 * and the words of documents, and, with V8's precise coverage, the files and functions that are executed from the first byte of a
 * request to the last of its response.
 */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { createAccounts } from "../lib/accounts/index.ts";
import { createHandler } from "../lib/http/index.ts";
import { startNodeServer } from "../lib/node/index.ts";
import { createDynamodbStore, createDynamodbTables } from "../lib/stores/dynamodb/index.ts";
import { createSqliteStore } from "../lib/stores/sqlite/index.ts";
import type { Store } from "../lib/stores/store.ts";
import { clientFor, startEmulator } from "./support/dynamodb/emulator.ts";
import { measureSizes } from "./support/size.ts";

const root = new URL("..", import.meta.url);
const showsFiles = process.argv.includes("--files");
const session = new Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });

/** The files of ours that a task executes, each with the names of its functions. */
async function executedBy(task: () => Promise<void>): Promise<ReadonlyMap<string, readonly string[]>> {
  await session.post("Profiler.takePreciseCoverage");
  await task();
  const { result } = await session.post("Profiler.takePreciseCoverage");
  const executed = result
    .filter(({ url }) => url.startsWith(`${root}lib/`))
    .map(({ url, functions }) => {
      const called = functions.filter(({ ranges: [range] }) => range !== undefined && range.count > 0);
      return [relative(root.pathname, new URL(url).pathname), called.map((f) => f.functionName)] as const;
    });
  return new Map(executed.filter(([, functions]) => functions.length > 0));
}

function report(name: string, executed: ReadonlyMap<string, readonly string[]>): void {
  const functions = [...executed.values()].flat().length;
  print(`${name.padEnd(44)} ${`${executed.size}`.padStart(4)} files ${`${functions}`.padStart(6)} functions`);
  if (!showsFiles) return;
  for (const [file, names] of executed)
    print(`  ${file}: ${names.map((each) => each || "(anonymous)").join(", ")}`);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** A store with an account, its key, and pending orders. */
async function prepare(store: Store): Promise<string> {
  const accounts = createAccounts({ store: store.accounts, environment: "test" });
  await accounts.create("acme", { plan: "business" });
  const issued = await accounts.issueKey("acme");
  if (!issued.ok) throw new Error(issued.code);
  await store.orders.place([1n, 2n, 3n].map((id) => ({ record: { id }, status: "pending" }) as const));
  return issued.key;
}

/** Sends a request over a connection that is kept open, and resolves with the status of its response. */
async function send(socket: ReturnType<typeof connect>, target: string, key: string): Promise<void> {
  socket.write(`${target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\n\r\n`);
  const [head] = (await once(socket, "data")) as [Buffer];
  if (!/^HTTP\/1\.1 20[04] /.test(`${head}`)) throw new Error(`${head}`);
  // The server has more to do after the last byte, such as the access log.
  await new Promise((resolve) => setTimeout(resolve, 50));
}

async function measureSqlite(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "structure-"));
  const store = createSqliteStore({ path: join(folder, "orders.db") });
  const key = await prepare(store);
  const server = await startNodeServer({ handler: createHandler({ store }), port: 0 });
  const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
  try {
    // What is done once for a process or a connection does not count.
    await send(socket, "DELETE /v1/store/orders/1", key);
    await send(socket, "GET /v1/store/orders", key);
    const cancel = await executedBy(() => send(socket, "DELETE /v1/store/orders/2", key));
    report("a cancel through the Node server on SQLite", cancel);
    const list = await executedBy(() => send(socket, "GET /v1/store/orders", key));
    report("a list through the Node server on SQLite", list);
  } finally {
    socket.destroy();
    await server.close({ graceMs: 0 });
    await store.close();
    rmSync(folder, { recursive: true });
  }
}

async function measureDynamodb(): Promise<void> {
  const emulator = await startEmulator("all-old");
  const client = clientFor(emulator.endpoint);
  const store = createDynamodbStore({ prefix: "structure", client });
  try {
    await createDynamodbTables({ prefix: "structure", client });
    const key = await prepare(store);
    const handler = createHandler({ store });
    const headers = { authorization: `Bearer ${key}` };
    // A pet that does not exist: the operation calls no store, so what remains is the admission.
    const admit = async () => {
      const { status } = await handler(new Request("http://localhost/v1/pets/1", { headers }));
      if (status !== 404) throw new Error(`${status}`);
    };
    await admit();
    report("an admission on DynamoDB", await executedBy(admit));
  } finally {
    await store.close();
    client.destroy();
    await emulator.stop();
  }
}

for (const { part, files, size, unit, max } of measureSizes())
  print(`${`${part}: ${files} files`.padEnd(44)} ${`${size}`.padStart(6)} ${unit}, at most ${max}`);
await measureSqlite();
await measureDynamodb();
session.disconnect();
