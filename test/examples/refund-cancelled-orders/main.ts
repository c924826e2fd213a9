/**
 * Refunds each cancelled order exactly once, whenever the process dies: `DIE_AT=refunding node main.ts` ends it at a step,
 * and the next run goes on.
 */
import { setTimeout } from "node:timers/promises";
import { createOrders, deliverChanges } from "store-orders";
import { createSqliteStore } from "store-orders/sqlite";
import { openPayments } from "./payments.ts";

const payments = openPayments("payments.db");
const store = createSqliteStore({ path: "orders.db" });
const orders = createOrders({ store: store.orders });

/** Ends the process as a power failure would. */
const step = (name: string) => {
  if (process.env["DIE_AT"] === name) process.kill(process.pid, "SIGKILL");
};

// What the shop does. Each line can be repeated.
await store.outbox?.switch(true);
for (const id of [1n, 2n, 3n]) await orders.place({ id, quantity: 1 });
step("placed");
for (const id of [1n, 2n]) await orders.cancel(id);
step("cancelled");

const delivery = deliverChanges({
  store,
  // After a death, the next process waits for as long, and five seconds, before it repeats what was begun.
  timeoutMs: 1_000,
  async deliver({ id, event, order }) {
    if (event !== "cancel") return;
    step("refunding");
    payments.refund(order.record.id, id);
    step("refunded");
  },
});
while (((await store.outbox?.backlog())?.waiting ?? 0) > 0) await setTimeout(100);
step("delivered");
await delivery.stop();

for (const { key, orderId } of payments.refunds()) process.stdout.write(`order ${orderId}: refund ${key}\n`);
await store.close();
