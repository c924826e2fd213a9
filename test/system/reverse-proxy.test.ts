/** The proxy configurations that ship, run by the real programs with a certificate, free ports and a live service. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { type IncomingMessage, request as requestPlain } from "node:http";
import { request } from "node:https";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ERRORS, type ErrorCode } from "../../lib/http/errors.ts";
import { createSqliteStore } from "../../lib/stores/sqlite/index.ts";
import { createTestAuthority } from "../support/certificates.ts";
import { createCommandLine } from "../support/command-line.ts";
import { freePort } from "../support/free-port.ts";
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
async function open(
  port: number,
  { headers = {}, ...options }: Sent,
  by = request,
): Promise<IncomingMessage> {
  const sent = by({
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

async function send(port: number, options: Sent, by = request) {
  const response = await open(port, options, by);
  const { statusCode: status, headers } = response;
  return { status, headers, text: (await buffer(response)).toString() };
}

/** The body of an error, which a proxy must send like the service. */
const errorBody = (code: ErrorCode) => ({ code, ...ERRORS[code] });

describe.each([NGINX, CADDY])("$name", ({ program = "", order, validate, run, ready, configure }) => {
  const runs = test.skipIf(program === "");
  const ports = { service: 0, http: 0, https: 0 };
  const stops: (() => unknown)[] = [];
  let service: Awaited<ReturnType<typeof startService>>;

  beforeAll(async () => {
    if (program === "") return;
    for (const name of ["service", "http", "https"] as const) ports[name] = await freePort();
    configure(cli.directory, ports);
    await promisify(execFile)(program, validate, { cwd: cli.directory });
    service = await startService(ports.service);
    const env = { HOME: cli.directory };
    stops.push((await startProgram(program, run, { cwd: cli.directory, ready, env })).stop);
  });
  afterAll(() => Promise.all(stops.map((stop) => stop())));

  runs("the proxy passes requests and responses on, over TLS, with the path as sent", async () => {
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
  });

  runs("the proxy passes the address of the caller on, and none that the caller invents", async () => {
    await send(ports.https, {
      path: "/v1/pets/1",
      headers: { "x-forwarded-for": "203.0.113.9" },
      localAddress: "127.0.0.2",
    });
    // The line is written after the response.
    await expect
      .poll(() => service.entries().at(-1))
      .toMatchObject({ path: "/v1/pets/1", address: "127.0.0.2" });
  });

  runs("the proxy streams the list: it is not read ahead of the client", async () => {
    const response = await open(ports.https, { path: "/v1/store/orders" });
    await once(response, "readable");
    await sleep(1_000);
    const isList = ({ operation }: { operation?: string }) => operation === "listOrders";
    expect(service.entries().filter(isList)).toEqual([]);
    const text = (await buffer(response)).toString();
    expect(text.match(/"id":/g)).toHaveLength(ORDERS);
    await expect.poll(() => service.entries().filter(isList)).toMatchObject([{ bodyEnd: "complete" }]);
  });

  runs("the proxy redirects its own host to HTTPS, without the policy", async () => {
    const { status, headers } = await send(ports.http, { path: "/v1/store/orders?a=b" }, requestPlain);
    expect(status).toBeGreaterThanOrEqual(301);
    expect(status).toBeLessThanOrEqual(308);
    expect(headers.location).toMatch(/^https:\/\/orders\.example\.com(:\d+)?\/v1\/store\/orders\?a=b$/);
    expect(headers["strict-transport-security"]).toBeUndefined();
  });

  runs("no other host reaches the service over TLS, also not 127.0.0.1", async () => {
    for (const host of ["127.0.0.1", "localhost", "other.example.com"]) {
      const { status, headers, text } = await send(ports.https, {
        path: "/v1/store/orders",
        headers: { host },
      });
      expect({ status, type: headers["content-type"], hsts: headers["strict-transport-security"] }).toEqual({
        status: 421,
        type: "application/json",
        hsts: "max-age=31536000",
      });
      expect(JSON.parse(text)).toEqual(errorBody("misdirected_request"));
    }
  });

  runs("a change that is marked as early data gets 425, a read does not", async () => {
    const early = { headers: { "early-data": "1" } };
    const change = await send(ports.https, { ...early, method: "DELETE", path: "/v1/store/orders/9" });
    expect(JSON.parse(change.text)).toEqual(errorBody("too_early"));
    expect((await send(ports.https, { ...early, path: "/v1/pets/1" })).status).toBe(404);
  });

  runs("the proxy sends the Error body with Retry-After while the service is stopped", async () => {
    await service.stop();
    const { status, headers, text } = await send(ports.https, { path: "/v1/store/orders" });
    expect({ status, retry: headers["retry-after"], type: headers["content-type"] }).toEqual({
      status: 503,
      retry: "5",
      type: "application/json",
    });
    expect(headers["strict-transport-security"]).toBe("max-age=31536000");
    expect(JSON.parse(text)).toEqual(errorBody("store_unavailable"));
  });
});

describe("nginx by itself", () => {
  const { program = "", run, ready, configure } = NGINX;
  const runs = test.skipIf(program === "");
  const ports = { service: 0, http: 0, https: 0 };
  let stop: () => unknown = () => {};
  beforeAll(async () => {
    if (program === "") return;
    for (const name of ["service", "http", "https"] as const) ports[name] = await freePort();
    configure(cli.directory, ports);
    ({ stop } = await startProgram(program, run, { cwd: cli.directory, ready }));
  });
  afterAll(() => stop());

  runs("its own errors have the form and the policy of the service's", async () => {
    const long = "a".repeat(21_000);
    const rows: readonly [Sent, ErrorCode][] = [
      [{ path: `/${long}` }, "uri_too_long"],
      [{ path: "/", headers: { long } }, "headers_too_large"],
      [{ path: "/", headers: { "content-length": "99999999" } }, "request_too_large"],
      [{ path: "/", headers: { "transfer-encoding": "gzip" } }, "not_implemented"],
      [{ path: "/", method: "TRACE" }, "method_not_allowed"],
      [{ path: "/%zz" }, "bad_request"],
      [{ path: "/nginx-error" }, "route_not_found"],
    ];
    for (const [sent, code] of rows) {
      const { status, headers, text } = await send(ports.https, sent);
      expect({ code, status, type: headers["content-type"] }).toEqual({
        code,
        status: ERRORS[code].status,
        type: "application/json",
      });
      expect(headers["strict-transport-security"], code).toBe("max-age=31536000");
      expect(JSON.parse(text)).toEqual(errorBody(code));
    }
  });

  runs("redirects no other host", async () => {
    const { status, headers, text } = await send(
      ports.http,
      { path: "/v1", headers: { host: "evil.example" } },
      requestPlain,
    );
    expect([status, headers.location]).toEqual([421, undefined]);
    expect(JSON.parse(text)).toEqual(errorBody("misdirected_request"));
  });
});
