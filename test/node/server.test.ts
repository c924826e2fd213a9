import type { Server } from "node:http";
import { expect, test, vi } from "vitest";
import { createHandler } from "../../lib/http/handler.ts";
import { startMetricsServer } from "../../lib/metrics/index.ts";
import { toNodeHandler } from "../../lib/node/handler.ts";
import { shutDown, startNodeServer } from "../../lib/node/server.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { serve } from "./server-fixture.ts";

test("every operation is served over a socket", async () => {
  const { url, headers } = await serve();
  const statuses = [];
  for (const [method, path] of [
    ["GET", "/v1/store/orders"],
    ["DELETE", "/v1/store/orders/1"],
    ["DELETE", "/v1/store/orders/2"],
    ["DELETE", "/v1/store/orders/77"],
    ["PUT", "/v1/store/orders"],
    ["HEAD", "/v1/store/orders"],
  ]) {
    const response = await fetch(url + path, { method: method ?? "", headers });
    await response.arrayBuffer();
    statuses.push(response.status);
    expect(response.headers.get("x-ratelimit-limit")).toBe("60");
  }
  expect(statuses).toEqual([200, 204, 409, 404, 405, 200]);
  expect((await fetch(`${url}/v1/store/orders`)).status).toBe(401);
});

test("a request with two Authorization headers is rejected with 401", async () => {
  const { raw, key } = await serve();
  const response = await raw(
    `GET /v1/store/orders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n\r\n`,
  );
  expect(response).toMatch(/^HTTP\/1.1 401 /);
});

test.each([
  ["a line that is not HTTP", "hello\r\n\r\n", 400, "bad_request"],
  ["a header without a colon", "GET / HTTP/1.1\r\nHost x\r\n\r\n", 400, "bad_request"],
  ["an unknown method", "FETCH / HTTP/1.1\r\nHost: x\r\n\r\n", 501, "not_implemented"],
  ["a method in lower case", "get / HTTP/1.1\r\nHost: x\r\n\r\n", 501, "not_implemented"],
  ["TRACE", "TRACE / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 401, "missing_api_key"],
  ["QUERY", "QUERY / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 401, "missing_api_key"],
  ["PROPFIND", "PROPFIND / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 501, "not_implemented"],
  ["a target above 16 KiB", `GET /${"a".repeat(17_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 414, "uri_too_long"],
  ["a target above 40 KiB", `GET /${"a".repeat(40_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 414, "uri_too_long"],
  [
    "a length and a transfer coding",
    "DELETE /v1/store/orders/1 HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    400,
    "bad_request",
  ],
  [
    "a head above 16 KiB",
    `GET / HTTP/1.1\r\nHost: x\r\nA: ${"a".repeat(17_000)}\r\n\r\n`,
    431,
    "headers_too_large",
  ],
  [
    "a head with more than 100 fields",
    `GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${"a:b\r\n".repeat(99)}\r\n`,
    431,
    "headers_too_large",
  ],
  [
    "a target above 8 KiB",
    `GET /${"a".repeat(9_000)} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
    414,
    "uri_too_long",
  ],
])("%s gets %i with the Error body and the rate limit headers", async (_name, bytes, status, code) => {
  const { raw } = await serve();
  const response = await raw(bytes);
  const [head = "", body = ""] = response.split("\r\n\r\n");
  expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  for (const name of ["limit", "remaining", "reset"])
    expect(head.toLowerCase()).toContain(`x-ratelimit-${name}: `);
  expect(JSON.parse(body.replace(/^[0-9a-f]+\r\n|\r\n0$/g, ""))).toMatchObject({ code, status });
});

test("a caller is identified by its socket address, or by the last forwarded address behind a trusted proxy", async () => {
  const left = async (response: Response) => Number(response.headers.get("x-ratelimit-remaining"));
  const plain = await serve();
  const get = (forwarded: string) => fetch(plain.url, { headers: { "x-forwarded-for": forwarded } });
  expect(await left(await get("192.0.2.1"))).toBe(59);
  expect(await left(await get("192.0.2.2"))).toBe(58);
  await plain.server.close();

  const proxied = await serve({ trustProxy: true });
  const through = (forwarded: string) => fetch(proxied.url, { headers: { "x-forwarded-for": forwarded } });
  expect(await left(await through("198.51.100.7, 192.0.2.1"))).toBe(59);
  expect(await left(await through("198.51.100.8, 192.0.2.1"))).toBe(58);
  expect(await left(await through("192.0.2.1, 192.0.2.3"))).toBe(59);
});

test("a shutdown lets a request finish and accepts no new one", async () => {
  const store = createMemoryStore();
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const { apply } = store.orders;
  store.orders.apply = async (...args) => {
    await held;
    return apply(...args);
  };
  const { url, headers, server } = await serve({ store });
  const underWay = fetch(`${url}/v1/store/orders/1`, { method: "DELETE", headers });
  await new Promise((resolve) => setTimeout(resolve, 50));
  const closed = server.close();
  await expect(fetch(url)).rejects.toThrow();
  release();
  expect((await underWay).status).toBe(204);
  await closed;
});

test("a shutdown closes connections that do not finish within the grace period", async () => {
  const store = createMemoryStore();
  store.orders.apply = () => new Promise(() => {});
  const { url, headers, server } = await serve({ store });
  const stuck = fetch(`${url}/v1/store/orders/1`, { method: "DELETE", headers });
  const failed = expect(stuck).rejects.toThrow();
  await new Promise((resolve) => setTimeout(resolve, 50));
  await server.close({ graceMs: 50 });
  await failed;
});

test("a grace period without an end does not cut a request off, and one that is no time is an error", async () => {
  const store = createMemoryStore();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { apply } = store.orders;
  store.orders.apply = async (...args) => {
    await released;
    return apply(...args);
  };
  const { url, headers, server } = await serve({ store });
  await expect(server.close({ graceMs: Number.NaN })).rejects.toMatchObject({ code: "invalid_input" });
  const underWay = fetch(`${url}/v1/store/orders/1`, { method: "DELETE", headers });
  await new Promise((resolve) => setTimeout(resolve, 50));
  const closed = server.close({ graceMs: Number.POSITIVE_INFINITY });
  setTimeout(release, 50);
  expect((await underWay).status).toBe(204);
  await closed;
});

test("starting a server on a port in use rejects", async () => {
  const { port, handler } = await serve();
  await expect(startNodeServer({ handler, port })).rejects.toMatchObject({ code: "EADDRINUSE" });
});

test.each([Number.NaN, -1, 1.5, 65_536, null, "", "8787", "orders"])(
  "a port that is %o is rejected with what to use, because Node would take a string for the path of a socket",
  async (port) => {
    const handler = createHandler({ store: createMemoryStore() });
    const started = startNodeServer({ handler, port: port as number });
    await started.then(
      (server) => server.close(),
      () => {},
    );
    await expect(started).rejects.toMatchObject({
      code: "invalid_input",
      message: "port: Use a whole number from 0 to 65535; 0 chooses a free port.",
    });
  },
);

test("an empty host is rejected, because Node would listen on every address of the machine", async () => {
  const handler = createHandler({ store: createMemoryStore() });
  const registry = { metrics: async () => "", contentType: "text/plain" } as never;
  const servers = await Promise.allSettled([
    startNodeServer({ handler, host: "", port: 0 }),
    startMetricsServer({ metrics: { registry }, host: "", port: 0 }),
  ]);
  for (const server of servers) if (server.status === "fulfilled") await server.value.close();
  const reason = expect.objectContaining({
    code: "invalid_input",
    message: expect.stringMatching(/^host: /),
  });
  expect(servers).toEqual([
    { status: "rejected", reason },
    { status: "rejected", reason },
  ]);
});

test("a server that is not one of node:net, as in Bun, is closed by its own method", async () => {
  const close = vi.fn((done: () => void) => done());
  await shutDown({ close } as unknown as Server, new Map(), 10);
  expect(close).toHaveBeenCalled();
});

test.each([undefined, null, {}, "handler"])(
  "a handler that is %j is reported at startup",
  async (handler) => {
    const options = { handler: handler as never, port: 0 };
    await expect(startNodeServer(options)).rejects.toThrow("handler: Pass a handler, such as");
    expect(() => toNodeHandler(handler as never)).toThrow("handler: Pass a handler, such as");
  },
);
