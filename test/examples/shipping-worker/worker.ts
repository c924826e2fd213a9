/** Ships every pending order of a database, the oldest first, and tells its parent what became of each. */
import { setTimeout } from "node:timers/promises";
import { createOrders } from "store-orders";
import { createSqliteStore } from "store-orders/sqlite";
import type { Told } from "./told.ts";

const [, , path = ""] = process.argv;
const store = createSqliteStore({ path });
const orders = createOrders({ store: store.orders });
const told: Told[] = [];

process.send?.("ready");
for await (const page of store.orders.scan()) {
  for (const { record, status } of page) {
    if (status !== "pending") continue;
    // Between this look and the next line somebody may cancel; the store lets one of the two win and tells the other.
    const result = await orders.ship(record.id);
    if (!result.ok && result.code === "order_not_found") continue;
    // Whoever waits for the database gets it now.
    await setTimeout(1);
    told.push({ id: `${record.id}`, status: result.ok ? result.order.status : result.status });
  }
}
await store.close();
process.send?.(told);
process.disconnect();
