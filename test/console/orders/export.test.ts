import { expect, test } from "vitest";
import { StoreUnavailableError } from "../../../lib/core/errors.ts";
import { importOrders, splitLines } from "../../../lib/orders/import.ts";
import type { OrderStore } from "../../../lib/orders/order-store.ts";
import { createMemoryStore } from "../../../lib/stores/memory.ts";
import { useSession } from "../../support/console.ts";

const IDS = Array.from({ length: 2_500 }, (_, index) => BigInt(index - 100));
const isShipped = (id: bigint) => id % 5n === 0n;

async function useFilled(change: (orders: OrderStore) => Partial<OrderStore> = () => ({})) {
  const { orders, ...rest } = createMemoryStore();
  await orders.place(
    IDS.map((id) => ({ record: { id, quantity: 2 }, status: isShipped(id) ? "shipped" : "pending" })),
  );
  return useSession({ store: { ...rest, orders: { ...orders, ...change(orders) } } });
}

async function importLines(
  lines: string,
  { orders }: ReturnType<typeof createMemoryStore> = createMemoryStore(),
) {
  let last: unknown;
  for await (const step of importOrders(splitLines(ReadableStream.from([Buffer.from(lines)])), orders))
    last = step;
  return last;
}

test.each([
  ["", "all-orders.ndjson", IDS.toReversed()],
  ["?sort=lowest", "all-orders.ndjson", IDS],
  ["?status=shipped", "shipped-orders.ndjson", IDS.filter(isShipped).toReversed()],
  ["?status=pending&sort=lowest&after=7", "pending-orders.ndjson", IDS.filter((id) => !isShipped(id))],
  ["?status=cancelled", "cancelled-orders.ndjson", []],
])(
  "orders%s are exported to %s in the order of the table, all pages of it, and an import reads them",
  async (query, name, ids) => {
    const console = await useFilled();
    const page = await console.textOf(`orders${query}`);
    const [, href = ""] = /href="([^"]*export[^"]*)" download/.exec(page) ?? [];
    const response = await console.get(href.replaceAll("&amp;", "&"));
    expect(response.headers.get("content-type")).toBe("application/x-ndjson");
    expect(response.headers.get("content-disposition")).toBe(`attachment; filename="${name}"`);
    const text = await response.text();
    const found = text
      .split("\n")
      .slice(0, -1)
      .map((line) => BigInt(JSON.parse(line).id));
    expect(found).toEqual(ids);
    const copy = createMemoryStore();
    expect(await importLines(text, copy)).toMatchObject({ placed: ids.length, rejected: 0 });
    for (const id of ids.slice(0, 3))
      expect((await copy.orders.find(id))?.status).toBe(isShipped(id) ? "shipped" : "pending");
  },
);

test("an address that names no table exports nothing", async () => {
  const response = await (await useFilled()).get("orders/export?status=lost");
  expect([response.status, response.headers.get("content-disposition")]).toEqual([422, null]);
});

test("pages of the store are read as the browser takes them, and none after it has left", async () => {
  let calls = 0;
  const long = "x".repeat(400_000);
  const page: OrderStore["page"] = async ({ after = 0n }) => {
    calls++;
    const record = { id: after + 1n, shipDate: long };
    return { orders: [{ record, status: "pending" }], next: after + 1n };
  };
  const console = await useFilled(() => ({ page }));
  const stop = new AbortController();
  const { body } = await fetch(console.at("orders/export"), {
    headers: { cookie: console.cookie },
    signal: stop.signal,
  });
  await body?.getReader().read();
  await new Promise((resolve) => setTimeout(resolve, 300));
  const taken = calls;
  expect(taken).toBeLessThan(60);
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(calls).toBe(taken);
  stop.abort();
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(calls).toBeLessThanOrEqual(taken + 1);
});

test("a store that fails is an error before the first page, and a download that fails after it", async () => {
  let fails = 0;
  const console = await useFilled((orders) => ({
    page: async (query) => {
      if (fails-- === 0) throw new StoreUnavailableError("The store does not answer.");
      return orders.page(query);
    },
  }));
  expect((await console.get("orders/export")).status).toBe(503);
  fails = 2;
  await expect(console.textOf("orders/export")).rejects.toThrow();
  expect(console.lines.at(-1)).toBe("error: An export is incomplete. The store does not answer.");
});

test("an order that cannot be read is a line that says so, which an import rejects", async () => {
  const problem = 'The record of order 128 is damaged: {"id":128,';
  const console = await useFilled((orders) => ({
    page: async (query) => ({
      ...(await orders.page(query)),
      ...(query.after === undefined && { damaged: [{ id: 2_400n, problem }] }),
    }),
  }));
  const text = await (await console.get("orders/export")).text();
  expect(text.split("\n")).toContain(JSON.stringify({ id: 2_400, problem }));
  expect(await importLines(text)).toMatchObject({ placed: IDS.length, rejected: 1 });
});
