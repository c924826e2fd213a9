import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import type { OrderTransition } from "../../lib/orders/transition-hook.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { createSqliteStore } from "../../lib/stores/sqlite/index.ts";
import { createHandlerFixture } from "./fixture.ts";

test("onTransition is called once for a cancel that succeeded, after it is stored and before the response", async () => {
  const store = createMemoryStore();
  const seen: (OrderTransition & { readonly stored: unknown })[] = [];
  const { send } = await createHandlerFixture({
    store,
    onTransition: async (change) => {
      const stored = await store.orders.find(1n);
      seen.push({ ...change, stored });
    },
  });
  const context = { requestId: "request-1" };
  expect((await send("DELETE", "/v1/store/orders/1", {}, context)).status).toBe(204);
  const order = { record: { id: 1n, petId: 7n, quantity: 2 }, status: "cancelled" };
  expect(seen).toMatchObject([
    { order, event: "cancel", from: "pending", to: "cancelled", requestId: "request-1", stored: order },
  ]);
  for (const id of [1, 2, 3, 7]) await send("DELETE", `/v1/store/orders/${id}`);
  await send("GET", "/v1/store/orders");
  expect(seen).toHaveLength(1);
});

test("when onTransition is called, another process that opens the database sees the change", async () => {
  const path = join(mkdtempSync(join(tmpdir(), "store-orders-hooks-")), "orders.db");
  const store = createSqliteStore({ path });
  const statuses: unknown[] = [];
  const onTransition = async () => {
    const other = createSqliteStore({ path });
    statuses.push((await other.orders.find(1n))?.status);
    await other.close();
  };
  const { send } = await createHandlerFixture({ store, onTransition });
  expect((await send("DELETE", "/v1/store/orders/1")).status).toBe(204);
  expect(statuses).toEqual(["cancelled"]);
  await store.close();
  rmSync(dirname(path), { recursive: true });
});
