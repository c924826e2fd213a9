/**
 * The rules in a service with its own routes: Fastify handles HTTP, store-orders decides who may call and what an order
 * may do.
 */
import Fastify, { type FastifyRequest } from "fastify";
import { type Clock, createAccounts, createOrders, parseInt64, parseInt64Json, toWire } from "store-orders";
import { createMemoryStore } from "store-orders/memory";
import { accessControl, sendError } from "./access.ts";
import { runDemo } from "./demo.ts";

/** A fixed time makes the output reproducible. A real service uses `systemClock`, which is the default. */
const clock: Clock = () => Date.UTC(2026, 10, 20, 12);
const store = createMemoryStore();
const orders = createOrders({ store: store.orders, clock });
const app = Fastify();

// Identifiers are int64, which `JSON.parse` would round.
const parse = async (_request: FastifyRequest, body: string) => parseInt64Json(body);
app.addContentTypeParser("application/json", { parseAs: "string" }, parse);

app.addHook("onRequest", accessControl(store.accounts, clock));

app.post<{ Params: { pet: string }; Body: { quantity: number } }>(
  "/pets/:pet/orders",
  async (request, reply) => {
    const petId = parseInt64(request.params.pet);
    if (petId === undefined) return sendError(reply, "pet_not_found");
    const { record } = await orders.place({ id: 7n, petId, quantity: request.body.quantity });
    return reply.code(201).type("application/json").send(toWire(record));
  },
);

app.post<{ Params: { order: string } }>("/orders/:order/cancel", async (request, reply) => {
  const id = parseInt64(request.params.order);
  if (id === undefined) return sendError(reply, "order_not_found");
  const result = await orders.cancel(id);
  return result.ok ? { status: result.order.status } : sendError(reply, result.code);
});

await runDemo(app, createAccounts({ store: store.accounts, environment: "test", clock }));
