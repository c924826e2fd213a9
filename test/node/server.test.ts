import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, expect, test } from "vitest";
import { type NodeServer, startNodeServer } from "../../lib/node/server.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { createHandlerFixture } from "../http/fixture.ts";

let server: NodeServer | undefined;
afterEach(() => server?.close({ graceMs: 0 }));

async function serve(options: Parameters<typeof createHandlerFixture>[0] & { trustProxy?: boolean } = {}) {
  const { trustProxy = false, ...rest } = options;
  const shop = await createHandlerFixture(rest);
  server = await startNodeServer({ handler: shop.handler, port: 0, trustProxy });
  const { hostname, port } = new URL(server.url);
  /** Sends the bytes unchanged and returns everything that comes back. */
  const raw = async (bytes: string) => {
    const socket = connect(Number(port), hostname);
    socket.write(bytes);
    return text(socket);
  };
  const headers = { authorization: `Bearer ${shop.key}` };
  return { ...shop, server, url: server.url, raw, headers, port: Number(port), hostname };
}

const manyOrders = (count: number) =>
  Array.from(
    { length: count },
    (_, id) => ({ record: { id: BigInt(id) + 10n, petId: 1n, quantity: 1 }, status: "pending" }) as const,
  );

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
  ["TRACE", "TRACE / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 501, "not_implemented"],
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

test("a list is not read further after its client disconnects", async () => {
  const store = createMemoryStore();
  const { events, headers, url } = await serve({ store });
  await store.orders.place(manyOrders(200_000));
  const controller = new AbortController();
  const response = await fetch(`${url}/v1/store/orders`, { headers, signal: controller.signal });
  await response.body?.getReader().read();
  controller.abort();
  while (events.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  expect(events).toMatchObject([{ status: 200, bodyEnd: "cancelled" }]);
});

test("a store that fails in the middle of a list ends the connection and leaves the array unclosed", async () => {
  const store = createMemoryStore();
  await store.orders.place(manyOrders(50_000));
  const { list } = store.orders;
  store.orders.list = async function* () {
    let pages = 0;
    for await (const page of list()) {
      if (++pages > 3) throw new Error("gone");
      yield page;
    }
  };
  const { raw, key, events } = await serve({ store });
  const response = await raw(
    `GET /v1/store/orders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`,
  );
  expect(response).toMatch(/^HTTP\/1.1 200 /);
  expect(response.trimEnd()).not.toMatch(/\]$|\r\n0\r\n/);
  expect(events).toMatchObject([{ status: 200, bodyEnd: "failed" }]);
});

test("a list is read no faster than its client receives it", async () => {
  const store = createMemoryStore();
  await store.orders.place(manyOrders(200_000));
  let pages = 0;
  const { list } = store.orders;
  store.orders.list = async function* () {
    for await (const page of list()) {
      pages++;
      yield page;
    }
  };
  const { port, hostname, key } = await serve({ store });
  const socket = connect(port, hostname);
  socket.write(`GET /v1/store/orders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`);
  await once(socket, "readable");
  let before: number;
  do {
    before = pages;
    await new Promise((resolve) => setTimeout(resolve, 400));
  } while (pages > before);
  expect(pages).toBeLessThan(400);
  socket.destroy();
});

test("a long document is complete for a client that reads slowly", async () => {
  const body = new Uint8Array(2_000_000);
  const documents = async () => ({ status: 200, body }) as const;
  const { url } = await serve({ documents });
  const response = await fetch(`${url}/long`);
  expect(response.headers.get("content-length")).toBe("2000000");
  let received = 0;
  for await (const chunk of response.body ?? []) {
    received += chunk.length;
    if (received < 500_000) await new Promise((resolve) => setTimeout(resolve, 2));
  }
  expect(received).toBe(body.length);
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

test("starting a server on a port in use rejects", async () => {
  const { port, handler } = await serve();
  await expect(startNodeServer({ handler, port })).rejects.toMatchObject({ code: "EADDRINUSE" });
});
