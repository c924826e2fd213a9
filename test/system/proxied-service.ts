/** A service with a long list, behind a proxy with TLS. */
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { afterAll, beforeAll } from "vitest";
import { createSqliteStore } from "../../lib/stores/sqlite/index.ts";
import { createTestAuthority } from "../support/certificates.ts";
import { createCommandLine, waitForOutput } from "../support/command-line.ts";

export const HOST = "orders.example.com";
/** The list has some 75 MB: more than the buffers of two connections can hold (`tcp_rmem` and `tcp_wmem`). */
export const ORDERS = 700_000;

export const cli = createCommandLine();
const inFolder = (name: string) => join(cli.directory, name);
const authority = createTestAuthority();
let key = "";

/** Writes a certificate and a database with a long list, for the tests of a file. */
export function useProxiedService(): void {
  beforeAll(async () => {
    const { cert, key: privateKey } = authority.issue([HOST]);
    writeFileSync(inFolder("fullchain.pem"), cert);
    writeFileSync(inFolder("privkey.pem"), privateKey);
    const store = createSqliteStore({ path: inFolder("orders.db") });
    const record = {
      petId: 9_007_199_254_740_993n,
      quantity: 1,
      shipDate: "2026-11-20T12:00:00Z",
      complete: true,
    };
    const orders = Array.from({ length: ORDERS }, (_, id) => ({
      record: { id: BigInt(id), ...record },
      status: "pending" as const,
    }));
    await store.orders.place(orders);
    await store.close();
    const database = ["--database", "orders.db"];
    await cli.json("accounts", "create", "acme", "--plan", "business", ...database);
    ({ key } = await cli.json<{ key: string }>("keys", "issue", "--account", "acme", ...database));
  });
  afterAll(() => cli[Symbol.dispose]());
}

/** Starts the service on a port, behind a proxy. `entries` is its log. */
export async function startService(port: number) {
  const flags = ["serve", "--trust-proxy", "--log-addresses", "--port", `${port}`, "--database", "orders.db"];
  const child = cli.spawn(flags);
  let log = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    log += text;
  });
  await waitForOutput(child, /^database.*\n/m);
  const entries = () => log.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line)]));
  const stop = async () => {
    child.kill("SIGTERM");
    await once(child, "close");
  };
  return { entries, stop };
}

interface Sent {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly localAddress?: string;
}

/** The first part of a response through a proxy. The path is sent as it is. */
export async function open(port: number, { headers = {}, ...options }: Sent): Promise<IncomingMessage> {
  const sent = request({
    host: "127.0.0.1",
    port,
    servername: HOST,
    ca: authority.cert,
    agent: false,
    headers: { host: HOST, authorization: `Bearer ${key}`, ...headers },
    ...options,
  });
  sent.end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return response;
}

/** A response through a proxy, with its text. */
export async function send(port: number, options: Sent) {
  const response = await open(port, options);
  const { statusCode: status, headers } = response;
  return { status, headers, text: (await buffer(response)).toString() };
}
