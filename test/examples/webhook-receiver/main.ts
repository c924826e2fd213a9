/** Sends the changes of two orders to a receiver, which fails once and is called again. */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { setTimeout } from "node:timers/promises";
import { createOrders, deliverChanges } from "store-orders";
import { createMemoryStore } from "store-orders/memory";
import { webhook } from "store-orders/webhooks";
import { createReceiver } from "./receiver.ts";

const secret = `whsec_${randomBytes(32).toString("base64")}`;
const lines: string[] = [];
const receiver = createReceiver(secret, (type, orderId) => lines.push(`${type} ${orderId}`));
receiver.listen(0, "127.0.0.1");
await once(receiver, "listening");
const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;

const store = createMemoryStore();
await store.outbox?.switch(true);
const orders = createOrders({ store: store.orders });
await orders.place({ id: 1001n, quantity: 2 });
await orders.place({ id: 9223372036854775807n, quantity: 1 });
await orders.cancel(9223372036854775807n);

const send = webhook({ url, secret });
let isFirst = true;
const delivery = deliverChanges({
  store,
  async deliver(change, signal) {
    await send(change, signal);
    // As if the response had been lost: the change is sent again, with the same identifier.
    if (!isFirst) return;
    isFirst = false;
    throw new Error("The response was lost.");
  },
  onError: () => {},
  pollMs: 50,
});
while (((await store.outbox?.backlog())?.waiting ?? 0) > 0) await setTimeout(50);
await delivery.stop();

const forged = await fetch(url, {
  method: "POST",
  headers: {
    "webhook-id": "7:1",
    "webhook-timestamp": `${Math.floor(Date.now() / 1_000)}`,
    "webhook-signature": "v1,Zm9yZ2Vk",
  },
  body: '{"type":"order.cancel"}',
});
process.stdout.write(`${lines.sort().join("\n")}\nforged: ${forged.status}\n`);
receiver.closeAllConnections();
receiver.close();
