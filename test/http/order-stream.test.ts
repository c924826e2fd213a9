import { gunzipSync } from "node:zlib";
import { expect, onTestFinished, test, vi } from "vitest";
import { StoreUnavailableError } from "../../lib/errors.ts";
import { discardBody, toWebBody } from "../../lib/http/body.ts";
import { acceptsGzip } from "../../lib/http/gzip.ts";
import { type OrderList, orderList } from "../../lib/http/order-stream.ts";
import type { OrderPage } from "../../lib/orders/order-store.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { createHandlerFixture } from "./fixture.ts";

/** Pages of one record each, told apart by number; remembers how many were read and whether it was left. */
function pagesOf(count: number, failAt = Infinity) {
  const seen = { read: 0, left: false };
  async function* pages(): AsyncGenerator<OrderPage> {
    try {
      for (let number = 1; number <= count; number++) {
        if (number > failAt) throw new StoreUnavailableError("gone");
        seen.read = number;
        yield { json: `{"id":${number}}`, last: number === count };
      }
    } finally {
      seen.left = true;
    }
  }
  return { seen, pages: pages() };
}

const read = (list: OrderList) => new Response(toWebBody(list.body)).text();
const readerOf = (list: OrderList) => (toWebBody(list.body) as ReadableStream<Uint8Array>).getReader();

test("pages are written as one JSON array, even if the last one is empty", async () => {
  expect(await read(await orderList(pagesOf(1).pages))).toBe('[{"id":1}]');
  expect(await read(await orderList(pagesOf(3).pages))).toBe('[{"id":1},{"id":2},{"id":3}]');
  const exact: OrderPage[] = [
    { json: "1", last: false },
    { json: "", last: true },
  ];
  expect(await read(await orderList(ReadableStream.from(exact)))).toBe("[1]");
  expect(await read(await orderList(ReadableStream.from([{ json: "", last: true }])))).toBe("[]");
});

test("a page is read only when the consumer requests it", async () => {
  const { pages, seen } = pagesOf(100);
  const list = await orderList(pages);
  const reader = readerOf(list);
  expect(seen.read).toBe(1);
  await reader.read();
  expect(seen.read).toBe(1);
  await reader.read();
  await reader.read();
  expect(seen.read).toBe(3);
});

test("a consumer that cancels ends the reading", async () => {
  const { pages, seen } = pagesOf(100);
  const list = await orderList(pages);
  const reader = readerOf(list);
  await reader.read();
  await reader.cancel();
  expect([seen.left, seen.read]).toEqual([true, 1]);
  expect(await list.ended).toEqual({ status: "cancelled" });
});

test("a list that is cancelled before it is read has ended too", async () => {
  const { pages, seen } = pagesOf(100);
  const list = await orderList(pages);
  discardBody(list.body);
  expect(await list.ended).toEqual({ status: "cancelled" });
  await vi.waitFor(() => expect([seen.left, seen.read]).toEqual([true, 1]));
});

/** Pages of a store that fails to release them. */
function stuckPages(numbers: number[]): AsyncIterable<OrderPage> {
  const pages = {
    next: async () => ({ value: { json: `${numbers.shift()}`, last: numbers.length === 0 } }),
    return: () => Promise.reject(new StoreUnavailableError("gone")),
  };
  return { [Symbol.asyncIterator]: () => pages };
}

test("a list is complete, or cancelled, even if the store fails to release it", async () => {
  expect(await read(await orderList(stuckPages([1])))).toBe("[1]");
  expect(await read(await orderList(stuckPages([1, 2])))).toBe("[1,2]");
  const rejections: unknown[] = [];
  const record = (reason: unknown) => rejections.push(reason);
  process.on("unhandledRejection", record);
  onTestFinished(() => void process.off("unhandledRejection", record));
  const list = await orderList(stuckPages([1, 2]));
  discardBody(list.body);
  expect(await list.ended).toEqual({ status: "cancelled" });
  await new Promise(setImmediate);
  expect(rejections).toEqual([]);
});

test("an unavailable store rejects before anything is sent, and one that fails later leaves the array unclosed", async () => {
  await expect(orderList(pagesOf(3, 0).pages)).rejects.toThrow(StoreUnavailableError);
  const list = await orderList(pagesOf(3, 1).pages);
  const reader = readerOf(list);
  expect(new TextDecoder().decode((await reader.read()).value)).toBe('[{"id":1}');
  await expect(reader.read()).rejects.toThrow("gone");
  expect(await list.ended).toMatchObject({ status: "failed", error: expect.any(StoreUnavailableError) });
});

test("other requests are handled while a list is written", async () => {
  const { pages } = pagesOf(1_000);
  let turns = 0;
  const timer = setInterval(() => turns++, 0);
  const immediate = () => {
    turns++;
    handle = setImmediate(immediate);
  };
  let handle = setImmediate(immediate);
  await read(await orderList(pages));
  clearInterval(timer);
  clearImmediate(handle);
  expect(turns).toBeGreaterThanOrEqual(900);
});

test("a gzip list has the same content and a Vary header", async () => {
  const store = createMemoryStore();
  const { handler, key } = await createHandlerFixture({ store });
  await store.orders.place(
    Array.from({ length: 2_000 }, (_, id) => ({ record: { id: BigInt(id) + 10n }, status: "pending" })),
  );
  const get = async (headers: Record<string, string>) => {
    const request = new Request("http://localhost/v1/store/orders", {
      headers: { authorization: `Bearer ${key}`, ...headers },
    });
    const response = await handler(request);
    return { headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) };
  };
  const plain = await get({});
  const gzip = await get({ "accept-encoding": "br, gzip" });
  expect([plain.headers.get("content-encoding"), gzip.headers.get("content-encoding")]).toEqual([
    null,
    "gzip",
  ]);
  expect([plain.headers.get("vary"), gzip.headers.get("vary")]).toEqual([
    "accept-encoding",
    "accept-encoding",
  ]);
  expect(gunzipSync(gzip.bytes).equals(plain.bytes)).toBe(true);
  expect(gzip.bytes.length).toBeLessThan(plain.bytes.length / 2);
  expect(JSON.parse(plain.bytes.toString())).toHaveLength(2_004);
});

test("the event of a streamed list is emitted when the list has ended, and reports how", async () => {
  const store = createMemoryStore();
  const { events, handler, key } = await createHandlerFixture({ store });
  await store.orders.place(
    Array.from({ length: 2_000 }, (_, id) => ({ record: { id: BigInt(id) + 10n }, status: "pending" })),
  );
  const request = () =>
    new Request("http://localhost/v1/store/orders", { headers: { authorization: `Bearer ${key}` } });
  const whole = await handler(request());
  expect(events).toHaveLength(0);
  await whole.text();
  expect(events).toMatchObject([{ status: 200, bodyEnd: "complete" }]);
  await (await handler(request())).body?.cancel();
  await new Promise(setImmediate);
  expect(events[1]).toMatchObject({ status: 200, bodyEnd: "cancelled" });
});

test("the event of a HEAD request for a long list is complete", async () => {
  const store = createMemoryStore();
  const { events, send } = await createHandlerFixture({ store });
  await store.orders.place(
    Array.from({ length: 2_000 }, (_, id) => ({ record: { id: BigInt(id) + 10n }, status: "pending" })),
  );
  expect(await send("HEAD", "/v1/store/orders")).toMatchObject({ status: 200, text: "" });
  await new Promise(setImmediate);
  expect(events).toMatchObject([{ method: "HEAD", status: 200, bodyEnd: "complete" }]);
});

test.each([
  [null, false],
  ["", false],
  ["gzip", true],
  ["GZIP", true],
  ["deflate, gzip;q=0.5", true],
  ["gzip;q=0", false],
  ["gzip; q=0.0", false],
  ["*", true],
  ["*;q=0", false],
  ["gzip;q=0, *", false],
  ["identity", false],
  ["gzipped", false],
])("Accept-Encoding %j allows gzip: %s (RFC 9110, section 12.5.3)", (header, accepted) => {
  expect(acceptsGzip(header)).toBe(accepted);
});
