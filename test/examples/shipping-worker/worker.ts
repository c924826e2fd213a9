/** Ships every pending order of a database, oldest first, and reports the results to the parent process. */
import { setTimeout } from "node:timers/promises";
import { createOrders, eachOrder } from "store-orders";
import { createSqliteStore } from "store-orders/sqlite";
import type { Result } from "./result.ts";

const [, , path = ""] = process.argv;
const store = createSqliteStore({ path });
const orders = createOrders({ store: store.orders });
const results: Result[] = [];

process.send?.("ready");
for await (const page of eachOrder(store.orders, { status: "pending" })) {
  for (const { record } of page) {
    // The API may cancel the order at this moment. The store lets one of the two win, and both learn the result.
    const result = await orders.ship(record.id);
    if (!result.ok && result.code === "order_not_found") continue;
    results.push({ id: `${record.id}`, status: result.ok ? result.order.status : result.status });
    // Give the other process a chance to lock the database.
    await setTimeout(1);
  }
}
await store.close();
process.send?.(results);
process.disconnect();
