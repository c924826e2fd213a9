import { expect, onTestFinished, test, vi } from "vitest";
import { StoreUnavailableError } from "../../lib/core/errors.ts";
import { orderList } from "../../lib/http/order-list.ts";
import { discardBody, toWebBody } from "../../lib/http/reply.ts";
import type { OrderPage } from "../../lib/orders/order-store.ts";
import { performStoreOperation } from "../../lib/orders/store-operation.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { createHandlerFixture, manyOrders } from "./fixture.ts";

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

/** The list of pages, of which the first is read with the admission and the others follow. */
type OrderList = Awaited<ReturnType<typeof orderList>>;

async function listOf(all: AsyncIterable<OrderPage>): Promise<OrderList> {
  const orders = { list: () => all, apply: () => Promise.reject(new Error("not called")) };
  const outcome = await performStoreOperation(orders, { type: "list" }, 0);
  if (outcome.type !== "list") throw new Error("another operation");
  return orderList(outcome);
}

const read = (list: OrderList) => new Response(toWebBody(list.body)).text();
const readerOf = (list: OrderList) => (toWebBody(list.body) as ReadableStream<Uint8Array>).getReader();

test("pages are written as one JSON array, even if the last one is empty", async () => {
  expect(await read(await listOf(pagesOf(1).pages))).toBe('[{"id":1}]');
  expect(await read(await listOf(pagesOf(3).pages))).toBe('[{"id":1},{"id":2},{"id":3}]');
  const exact: OrderPage[] = [
    { json: "1", last: false },
    { json: "", last: true },
  ];
  expect(await read(await listOf(ReadableStream.from(exact)))).toBe("[1]");
  expect(await read(await listOf(ReadableStream.from([{ json: "", last: true }])))).toBe("[]");
});

test("a page is read from the store when a reader asks for it, and not before", async () => {
  const { seen, pages } = pagesOf(9);
  const reader = readerOf(await listOf(pages));
  const reads: number[] = [];
  for (let parts = 0; parts < 3; parts++) {
    await new Promise(setImmediate);
    reads.push(seen.read);
    await reader.read();
  }
  expect(reads).toEqual([1, 1, 2]);
  await reader.cancel();
});

test("a list that ends without a last page is complete as well", async () => {
  const unmarked: OrderPage[] = [
    { json: "1", last: false },
    { json: "2", last: false },
  ];
  expect(await read(await listOf(ReadableStream.from(unmarked)))).toBe("[1,2]");
  expect(await read(await listOf(ReadableStream.from([] as OrderPage[])))).toBe("[]");
});

test("a page is handed to the server as the store returned it, because joining it with its comma would copy it", async () => {
  const { body } = await listOf(pagesOf(2).pages);
  const parts = typeof body === "string" ? [] : [await body.read(), await body.read()];
  const values = parts.map(({ value }) => value?.join(" "));
  expect(values).toEqual(['[ {"id":1}', ', {"id":2} ]']);
});

test("pages without records are left out, wherever they are", async () => {
  const lists = ["|1|2", "1||2", "1|2|", "||1|2||", "||"];
  for (const list of lists) {
    const parts = list.split("|");
    const pages = parts.map((json, index) => ({ json, last: index === parts.length - 1 }));
    const expected = `[${parts.filter((json) => json !== "").join(",")}]`;
    expect(await read(await listOf(ReadableStream.from(pages)))).toBe(expected);
  }
});

test("a consumer that cancels ends the reading", async () => {
  const { pages, seen } = pagesOf(100);
  const list = await listOf(pages);
  const reader = readerOf(list);
  await reader.read();
  await reader.cancel();
  expect([seen.left, seen.read]).toEqual([true, 1]);
  expect(await list.ended).toEqual({ status: "cancelled" });
});

test("a list that is cancelled before it is read has ended too", async () => {
  const { pages, seen } = pagesOf(100);
  const list = await listOf(pages);
  discardBody(list.body);
  expect(await list.ended).toEqual({ status: "cancelled" });
  await expect.poll(() => [seen.left, seen.read]).toEqual([true, 1]);
});

/** Pages of a store, and what releases them. */
function held(numbers: number[], release: AsyncIterator<OrderPage>["return"]): AsyncIterable<OrderPage> {
  const next = async () => ({ value: { json: `${numbers.shift()}`, last: numbers.length === 0 } });
  return { [Symbol.asyncIterator]: () => ({ next, ...(release && { return: release }) }) };
}

test("what the store holds is released once, although the list is read and cancelled after its end", async () => {
  const release = vi.fn(async () => ({ done: true, value: undefined }) as const);
  const { body, ended } = await listOf(held([1, 2], release));
  if (typeof body === "string") throw new Error("one page");
  for (let reads = 0; reads < 4; reads++) await body.read();
  await body.cancel();
  expect(await ended).toEqual({ status: "complete" });
  expect(release).toHaveBeenCalledTimes(1);
});

test.each([
  ["fails to release it", () => Promise.reject(new StoreUnavailableError("gone"))],
  ["never releases it", () => new Promise<never>(() => {})],
])("a list is complete, or cancelled, even if the store %s", async (_, release) => {
  expect(await read(await listOf(held([1], release)))).toBe("[1]");
  expect(await read(await listOf(held([1, 2], release)))).toBe("[1,2]");
  const rejections: unknown[] = [];
  const record = (reason: unknown) => rejections.push(reason);
  process.on("unhandledRejection", record);
  onTestFinished(() => void process.off("unhandledRejection", record));
  const list = await listOf(held([1, 2], release));
  discardBody(list.body);
  expect(await list.ended).toEqual({ status: "cancelled" });
  await new Promise(setImmediate);
  expect(rejections).toEqual([]);
});

test("a list that is cancelled while the store does not answer has ended, and reads no further page", async () => {
  let answer: (page: OrderPage) => void = () => {};
  const next = vi
    .fn<() => Promise<IteratorResult<OrderPage>>>()
    .mockResolvedValueOnce({ value: { json: "1", last: false } })
    .mockReturnValueOnce(new Promise((resolve) => (answer = (value) => resolve({ value }))));
  const list = await listOf({ [Symbol.asyncIterator]: () => ({ next }) });
  const reader = readerOf(list);
  await reader.read();
  const pending = reader.read();
  await expect.poll(() => next.mock.calls.length).toBe(2);
  await reader.cancel();
  expect(await list.ended).toEqual({ status: "cancelled" });
  answer({ json: "2", last: false });
  expect((await pending).done).toBe(true);
  await new Promise(setImmediate);
  expect(next).toHaveBeenCalledTimes(2);
});

test("an unavailable store rejects before anything is sent, and one that fails later leaves the array unclosed", async () => {
  await expect(listOf(pagesOf(3, 0).pages)).rejects.toThrow(StoreUnavailableError);
  const list = await listOf(pagesOf(3, 1).pages);
  const reader = readerOf(list);
  expect(new TextDecoder().decode((await reader.read()).value)).toBe('[{"id":1}');
  await expect(reader.read()).rejects.toThrow("gone");
  expect(await list.ended).toMatchObject({ status: "failed", error: expect.any(StoreUnavailableError) });
});

test("other requests are handled after each page that is written, however many lists are", async () => {
  let turns = 0;
  const timer = setInterval(() => turns++, 0);
  const immediate = () => {
    turns++;
    handle = setImmediate(immediate);
  };
  let handle = setImmediate(immediate);
  await Promise.all(Array.from({ length: 10 }, async () => read(await listOf(pagesOf(100).pages))));
  clearInterval(timer);
  clearImmediate(handle);
  expect(turns).toBeGreaterThanOrEqual(900);
});

test("the event of a streamed list is emitted when the list has ended, and reports how", async () => {
  const store = createMemoryStore();
  const { events, handler, key } = await createHandlerFixture({ store });
  await store.orders.place(manyOrders(2_000));
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
