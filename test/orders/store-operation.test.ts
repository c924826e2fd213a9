import { expect, test } from "vitest";
import { performStoreOperation, type StoreOutcome } from "../../lib/orders/store-operation.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";

const AT = Date.UTC(2026, 10, 20);

/** Every page of a list: the first one, and the rest. */
async function pagesOf(outcome: StoreOutcome): Promise<unknown[]> {
  if (outcome.type !== "list") throw new Error("This is not a list.");
  const pages: unknown[] = [outcome.first];
  for await (const page of outcome.rest) pages.push(page);
  return pages;
}

test("an event is applied to its order", async () => {
  const { orders } = createMemoryStore();
  await orders.place([{ record: { id: 1n }, status: "pending" }]);
  const outcome = await performStoreOperation(orders, { type: "apply", id: 1n, event: "cancel" }, AT);
  expect(outcome).toMatchObject({ type: "apply", result: { ok: true, order: { status: "cancelled" } } });
});

test("a list is its first page and those that follow, each once", async () => {
  const pages = [
    { json: '{"id":1}', last: false },
    { json: '{"id":2}', last: false },
    { json: '{"id":3}', last: true },
  ];
  const list = async function* () {
    yield* pages;
  };
  const { apply } = createMemoryStore().orders;
  expect(await pagesOf(await performStoreOperation({ apply, list }, { type: "list" }, AT))).toEqual(pages);
});

test("a list without a page is an empty list", async () => {
  const list = async function* () {};
  const { apply } = createMemoryStore().orders;
  expect(await pagesOf(await performStoreOperation({ apply, list }, { type: "list" }, AT))).toEqual([
    { json: "", last: true },
  ]);
});
