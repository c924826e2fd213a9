/** A service with its own routes: Fastify handles HTTP, store-orders decides who may call and what an order may do. */
import Fastify, { type FastifyRequest } from "fastify";
import {
  type Clock,
  createAccounts,
  createOrders,
  InvalidInputError,
  type NewOrder,
  orderToJson,
  parseInt64,
  parseInt64Json,
} from "store-orders";
import { createGate } from "store-orders/http";
import { createMemoryStore } from "store-orders/memory";
import { runDemo } from "./demo.ts";
import { handleError, sendError } from "./errors.ts";

/** A fixed time makes the output reproducible. A real service uses `systemClock`, which is the default. */
const clock: Clock = () => Date.UTC(2026, 10, 20, 12);
const store = createMemoryStore();
const orders = createOrders({ store: store.orders, clock });
const app = Fastify();

/** Identifiers are int64, which `JSON.parse` would round. */
async function parseBody(_request: FastifyRequest, body: string): Promise<unknown> {
  try {
    return parseInt64Json(body);
  } catch {
    throw new InvalidInputError([{ path: "", message: "The body is not valid JSON." }]);
  }
}

app.addContentTypeParser("application/json", { parseAs: "string" }, parseBody);
app.setErrorHandler(handleError);

const gate = createGate({ store, clock });
app.addHook("onRequest", async (request, reply) => {
  const access = await gate(request, { address: request.ip });
  reply.headers(access.ok ? access.headers : access.response.headers);
  if (!access.ok) return reply.code(access.response.status).send(access.response.body);
});

app.post<{ Params: { pet: string }; Body: NewOrder }>("/pets/:pet/orders", async (request, reply) => {
  const petId = parseInt64(request.params.pet);
  if (petId === undefined) return sendError(reply, "pet_not_found");
  // `place` validates the fields, and rejects with every issue.
  const placed = await orders.place({ ...request.body, petId });
  if (!placed.ok) {
    const message = `Order ${placed.id} already exists with different content; it was not changed.`;
    return reply.code(409).send({ code: placed.code, message, status: 409 });
  }
  return reply
    .code(placed.created ? 201 : 200)
    .type("application/json")
    .send(orderToJson(placed.record));
});

app.post<{ Params: { order: string } }>("/orders/:order/cancel", async (request, reply) => {
  const id = parseInt64(request.params.order);
  if (id === undefined) return sendError(reply, "order_not_found");
  const result = await orders.cancel(id);
  return result.ok ? { status: result.order.status } : sendError(reply, result.code);
});

await runDemo(app, createAccounts({ store: store.accounts, environment: "test", clock }));
