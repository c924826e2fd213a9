/**
 * Fastify with @fastify/bearer-auth and @fastify/rate-limit in its fastest form: a limiter for each window, called in one
 * hook, because the hook of the plugin itself is slower. `fastify.mjs DATABASE durable` counts in the database instead.
 */
import bearerAuth from "@fastify/bearer-auth";
import rateLimit from "@fastify/rate-limit";
import Fastify from "fastify";
import { announce, openDatabase, problem } from "./database.mjs";

const database = openDatabase();
const app = Fastify();

app.decorateRequest("account", null);
await app.register(bearerAuth, {
  keys: new Set(),
  errorResponse: () => problem("invalid_api_key"),
  auth(key, request) {
    request.account = database.accountOf(key);
    return request.account !== undefined;
  },
});

await app.register(rateLimit, { global: false });
const window = (timeWindow, max) =>
  app.createRateLimit({
    timeWindow,
    max: (request) => request.account[max],
    keyGenerator: (request) => request.account.id,
  });
const inMemory = [window(60_000, "perMinute"), window(86_400_000, "perDay")];
const countInMemory = async (request) => [await inMemory[0](request), await inMemory[1](request)];
const countInDatabase = (request) => database.count(request.account);
const count = process.argv[3] === "durable" ? countInDatabase : countInMemory;

app.addHook("onRequest", async (request, reply) => {
  const [minute, day] = await count(request);
  reply.headers({
    "x-ratelimit-limit": minute.max,
    "x-ratelimit-remaining": minute.remaining,
    "x-ratelimit-reset": Math.ceil((Date.now() + minute.ttl) / 1_000),
  });
  if (!minute.isExceeded && !day.isExceeded) return;
  reply.header("retry-after", Math.max(1, minute.ttlInSeconds));
  return reply.code(429).send(problem("rate_limit_exceeded"));
});

app.get("/v1/store/orders", (_request, reply) => {
  reply.send(database.orders());
});
app.delete("/v1/store/orders/:id", (request, reply) => {
  const failure = database.cancel(Number(request.params.id));
  if (failure === undefined) return reply.code(204).send();
  const body = problem(failure);
  reply.code(body.status).send(body);
});

await app.listen({ port: 0, host: "127.0.0.1" });
announce(app.server.address().port);
