import type { Server } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { createHandler } from "../../lib/http/handler.ts";
import { startMetricsServer } from "../../lib/metrics/index.ts";
import { toNodeHandler } from "../../lib/node/handler.ts";
import { shutDown, startNodeServer } from "../../lib/node/server.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { serve } from "./fixture.ts";

const HEAD = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n";

test.each([
  ["a line that is not HTTP", "hello\r\n\r\n", 400, "bad_request"],
  ["an unknown method", "FETCH / HTTP/1.1\r\nHost: x\r\n\r\n", 501, "not_implemented"],
  ["a method in lower case", "get / HTTP/1.1\r\nHost: x\r\n\r\n", 501, "not_implemented"],
  ["PROPFIND", "PROPFIND / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 501, "not_implemented"],
  ["a target above 16 KiB", HEAD.replace("/", `/${"a".repeat(17_000)}`), 431, "headers_too_large"],
  ["a head above 16 KiB", `${HEAD}A: ${"a".repeat(17_000)}\r\n\r\n`, 431, "headers_too_large"],
  ["a head of more than 100 fields", `${HEAD}${"a:b\r\n".repeat(99)}\r\n`, 431, "headers_too_large"],
  ["a target above 8 KiB", `${HEAD.replace("/", `/${"a".repeat(9_000)}`)}\r\n`, 414, "uri_too_long"],
])("%s gets %i with the Error body and the rate limit headers", async (_name, bytes, status, code) => {
  const { raw } = await serve();
  const response = await raw(bytes);
  const [head = "", body = ""] = response.split("\r\n\r\n");
  expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  for (const name of ["limit", "remaining", "reset"])
    expect(head.toLowerCase()).toContain(`x-ratelimit-${name}: `);
  expect(JSON.parse(body.replace(/^[0-9a-f]+\r\n|\r\n0$/g, ""))).toMatchObject({ code, status });
});

test.each([
  ["that is not HTTP", "hello\r\n\r\n"],
  ["that is valid", `${HEAD}\r\n`],
])("a wrapper that fails for a request %s closes the connection, and is logged", async (_name, bytes) => {
  const log = vi.spyOn(console, "error").mockReturnValue();
  const failing = [
    () => Promise.reject(new Error("It has a mistake.")),
    (): never => expect.fail("It has a mistake."),
    () => Promise.resolve(undefined as unknown as Response),
  ];
  for (const handler of failing) {
    const { raw } = await serve({ wrap: () => handler });
    expect(await raw(bytes)).toBe("");
  }
  const prefix = "store-orders: the function around the handler failed: It";
  const mistake = `${prefix} has a mistake.`;
  expect(log.mock.calls.flat()).toEqual([mistake, mistake, `${prefix} returned no Response.`]);
  log.mockRestore();
});

test("behind a trusted proxy, a caller is identified by the last forwarded address", async () => {
  const left = async (trustProxy: boolean | number, forwarded: readonly string[]) => {
    const { url } = await serve({ trustProxy });
    const remaining: unknown[] = [];
    for (const address of forwarded) {
      const { headers } = await fetch(url, { headers: { "x-forwarded-for": address } });
      remaining.push(headers.get("x-ratelimit-remaining"));
    }
    return remaining;
  };
  expect(await left(false, ["192.0.2.1", "192.0.2.2"])).toEqual(["59", "58"]);
  const forwarded = ["198.51.100.7, 192.0.2.1", "198.51.100.8, 192.0.2.1", "192.0.2.1, 192.0.2.3"];
  expect(await left(true, forwarded)).toEqual(["59", "58", "59"]);
  expect(await left(1, forwarded)).toEqual(["59", "58", "59"]);
  // Behind two, what the caller forges is further to the left, and a request that bypasses one is the proxy's.
  const forged = [
    "198.51.100.7, 192.0.2.1, 10.0.0.1",
    "198.51.100.8, 192.0.2.1, 10.0.0.2",
    "192.0.2.9, 10.0.0.1",
  ];
  expect(await left(2, [...forged, "192.0.2.9", "10.0.0.1"])).toEqual(["59", "58", "59", "59", "58"]);
});

test.each([-1, 1.5, Number.NaN])("trustProxy: %j stops the start", async (trustProxy) => {
  const issues = [{ path: "trustProxy", message: "Use true for one trusted proxy, or the number of them." }];
  await expect(serve({ trustProxy })).rejects.toMatchObject({ issues });
  const create = () => toNodeHandler(async () => new Response(), { trustProxy });
  expect(create).toThrow(expect.objectContaining({ issues }));
});

/** A server that is cancelling an order, which ends with `release()`, and the response. */
async function serveHeld() {
  const store = createMemoryStore();
  const begun = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const { apply } = store.orders;
  store.orders.apply = async (...args) => {
    begun.resolve();
    await held.promise;
    return apply(...args);
  };
  const { url, headers, server } = await serve({ store });
  const underWay = fetch(`${url}/v1/store/orders/1`, { method: "DELETE", headers });
  underWay.catch(() => {});
  await begun.promise;
  return { url, server, underWay, release: held.resolve };
}

test("a shutdown lets a request finish and accepts no new one", async () => {
  const { url, server, underWay, release } = await serveHeld();
  const closed = server.close();
  await expect(fetch(url)).rejects.toThrow();
  release();
  expect((await underWay).status).toBe(204);
  await closed;
});

test("a shutdown under fake timers does not wait until Node closes an idle connection", async () => {
  const { url, server } = await serve();
  await (await fetch(`${url}/v1/store/orders`)).text();
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const closed = server.close().then(() => "closed");
  expect(await Promise.race([closed, delay(4_000, "waits")])).toBe("closed");
});

test("a shutdown closes connections that do not finish within the grace period", async () => {
  const { server, underWay } = await serveHeld();
  await server.close({ graceMs: 50 });
  await expect(underWay).rejects.toThrow();
});

test("a grace period without an end does not cut a request off, and one that is no time is an error", async () => {
  const { server, underWay, release } = await serveHeld();
  await expect(server.close({ graceMs: Number.NaN })).rejects.toMatchObject({ code: "invalid_input" });
  const closed = server.close({ graceMs: Number.POSITIVE_INFINITY });
  // A timer with such a delay would fire at once.
  await new Promise((resolve) => setTimeout(resolve, 50));
  release();
  expect((await underWay).status).toBe(204);
  await closed;
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

test("an empty or mistyped host is rejected, as Node would listen on every address, or the server on another one", async () => {
  const handler = createHandler({ store: createMemoryStore() });
  const registry = { metrics: async () => "", contentType: "text/plain" } as never;
  const servers = await Promise.allSettled([
    startNodeServer({ handler, host: "", port: 0 }),
    startMetricsServer({ metrics: { registry }, host: "", port: 0 }),
    startMetricsServer({ metrics: { registry }, hots: "10.0.0.5", port: 0 } as never),
  ]);
  for (const server of servers) if (server.status === "fulfilled") await server.value.close();
  const reason = { code: "invalid_input", message: expect.stringMatching(/^ho(st|ts): /) };
  expect(servers).toMatchObject(Array(3).fill({ status: "rejected", reason }));
});

test("a server that is not one of node:net, as in Bun, is closed by its own method", async () => {
  const close = vi.fn((done: () => void) => done());
  await shutDown({ close } as unknown as Server, new Map(), 10);
  expect(close).toHaveBeenCalled();
});
