/**
 * The rules inside a service that has routes of its own: Fastify carries the requests, store-orders decides who comes
 * in and what an order may do.
 */
import Fastify, { type FastifyRequest } from "fastify";
import { type Clock, createAccounts, createOrders, parseInt64, parseInt64Json, toWire } from "store-orders";
import { createMemoryStore } from "store-orders/memory";
import { gate, refuse } from "./gate.ts";
import { tryItOut } from "./try-it-out.ts";

/** Time is passed in. This one stands still, so that what is printed is always the same; yours is `systemClock`. */
const clock: Clock = () => Date.UTC(2026, 10, 20, 12);
const store = createMemoryStore();
const orders = createOrders({ store: store.orders, clock });
const app = Fastify();

// Identifiers are int64: `JSON.parse` would round them.
const parse = async (_request: FastifyRequest, body: string) => parseInt64Json(body);
app.addContentTypeParser("application/json", { parseAs: "string" }, parse);

app.addHook("onRequest", gate(store.accounts, clock));

app.post<{ Params: { pet: string }; Body: { quantity: number } }>(
  "/pets/:pet/buy",
  async (request, reply) => {
    const petId = parseInt64(request.params.pet);
    if (petId === undefined) return refuse(reply, "pet_not_found");
    const { record } = await orders.place({ id: 7n, petId, quantity: request.body.quantity });
    return reply.code(201).type("application/json").send(toWire(record));
  },
);

app.post<{ Params: { order: string } }>("/orders/:order/give-back", async (request, reply) => {
  const orderId = parseInt64(request.params.order);
  if (orderId === undefined) return refuse(reply, "order_not_found");
  const result = await orders.cancel(orderId);
  return result.ok ? { status: result.order.status } : refuse(reply, result.code);
});

await tryItOut(app, createAccounts({ store: store.accounts, environment: "test", clock }));
