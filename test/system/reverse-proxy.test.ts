/** The proxy configurations that ship, run by the real programs with a certificate, free ports and a live service. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createSqliteStore } from "../../lib/stores/sqlite/index.ts";
import { createTestAuthority } from "../support/certificates.ts";
import { createCommandLine } from "../support/command-line.ts";
import { freeTcpPort } from "../support/postgres/server.ts";
import { startProgram } from "./program-process.ts";
import { CADDY, HOST, NGINX } from "./proxies.ts";

/** The list has some 75 MB: more than the buffers of two connections can hold (`tcp_rmem` and `tcp_wmem`). */
const ORDERS = 700_000;

const cli = createCommandLine();
const inFolder = (name: string) => join(cli.directory, name);
const authority = createTestAuthority();
let key = "";

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

/** Starts the service on a port, behind a proxy. `entries` is its log. */
async function startService(port: number) {
  const flags = ["--trust-proxy", "--log-addresses", "--port", `${port}`, "--database", "orders.db"];
  const { child, stop } = await cli.serve(flags);
  let log = "";
  child.stderr.on("data", (text: string) => {
    log += text;
  });
  const entries = () => log.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line)]));
  return { entries, stop };
}

interface Sent {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly localAddress?: string;
}

/** The first part of a response through a proxy. The path is sent as it is. */
async function open(port: number, { headers = {}, ...options }: Sent): Promise<IncomingMessage> {
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
async function send(port: number, options: Sent) {
  const response = await open(port, options);
  const { statusCode: status, headers } = response;
  return { status, headers, text: (await buffer(response)).toString() };
}

describe.each([NGINX, CADDY])("$name", ({ program = "", order, validate, run, ready, configure }) => {
  const ports = { service: 0, http: 0, https: 0 };
  const stops: (() => unknown)[] = [];
  let service: Awaited<ReturnType<typeof startService>>;

  beforeAll(async () => {
    if (program === "") return;
    for (const name of ["service", "http", "https"] as const) ports[name] = await freeTcpPort();
    configure(cli.directory, ports);
    await promisify(execFile)(program, validate, { cwd: cli.directory });
    service = await startService(ports.service);
    const env = { HOME: cli.directory };
    stops.push((await startProgram(program, run, { cwd: cli.directory, ready, env })).stop);
  });
  afterAll(() => Promise.all(stops.map((stop) => stop())));

  test.skipIf(program === "")(
    "the proxy passes requests and responses on, over TLS, with the path as sent",
    async () => {
      const { status, headers } = await send(ports.https, {
        method: "DELETE",
        path: `/v1/store/orders/${order}`,
      });
      expect(status).toBe(204);
      expect(headers).toMatchObject({
        "x-ratelimit-limit": "1000",
        "strict-transport-security": "max-age=31536000",
        "x-request-id": expect.stringMatching(/^[0-9a-f-]{36}$/),
      });
      const missing = await send(ports.https, { path: "/v1//store/orders" });
      expect({ ...missing, text: JSON.parse(missing.text) }).toMatchObject({
        status: 404,
        text: { code: "route_not_found", status: 404 },
      });
      const ambiguous = await send(ports.https, { path: "/v1/pets/../store/orders" });
      expect(JSON.parse(ambiguous.text)).toMatchObject({ code: "bad_request", status: 400 });
      expect((await send(ports.https, { path: "/docs" })).text).toContain("<title>Store Orders API</title>");
      await expect
        .poll(() => service.entries().find(({ path }) => path !== undefined))
        .toMatchObject({ path: `/v1/store/orders/${decodeURIComponent(order)}`, status: 204 });
    },
  );

  test.skipIf(program === "")(
    "the proxy passes the address of the caller on, and none that the caller invents",
    async () => {
      await send(ports.https, {
        path: "/v1/pets/1",
        headers: { "x-forwarded-for": "203.0.113.9" },
        localAddress: "127.0.0.2",
      });
      // The line is written after the response.
      await expect
        .poll(() => service.entries().at(-1))
        .toMatchObject({ path: "/v1/pets/1", address: "127.0.0.2" });
    },
  );

  test.skipIf(program === "")("the proxy streams the list: it is not read ahead of the client", async () => {
    const response = await open(ports.https, { path: "/v1/store/orders" });
    await once(response, "readable");
    await sleep(1_000);
    const isList = ({ operation }: { operation?: string }) => operation === "listOrders";
    expect(service.entries().filter(isList)).toEqual([]);
    const text = (await buffer(response)).toString();
    expect(text.match(/"id":/g)).toHaveLength(ORDERS);
    await expect.poll(() => service.entries().filter(isList)).toMatchObject([{ bodyEnd: "complete" }]);
  });

  test.skipIf(program === "")("the proxy redirects to HTTPS", async () => {
    const response = await fetch(`http://127.0.0.1:${ports.http}/v1/store/orders?a=b`, {
      redirect: "manual",
      headers: { host: HOST },
    });
    expect(response.status).toBeGreaterThanOrEqual(301);
    expect(response.status).toBeLessThanOrEqual(308);
  });

  test.skipIf(program === "")(
    "the proxy sends the Error body with Retry-After while the service is stopped",
    async () => {
      await service.stop();
      const { status, headers, text } = await send(ports.https, { path: "/v1/store/orders" });
      expect({ status, retry: headers["retry-after"], type: headers["content-type"] }).toEqual({
        status: 503,
        retry: "5",
        type: "application/json",
      });
      expect(JSON.parse(text)).toEqual({
        code: "store_unavailable",
        message: "The store cannot be reached. Try again later.",
        status: 503,
      });
    },
  );
});
