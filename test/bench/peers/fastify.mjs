/** Fastify with @fastify/bearer-auth and @fastify/rate-limit. */
import bearerAuth from "@fastify/bearer-auth";
import rateLimit from "@fastify/rate-limit";
import Fastify from "fastify";
import { announce, openDatabase, problem } from "./database.mjs";

const database = openDatabase();
const app = Fastify();

app.setErrorHandler((error, _request, reply) => {
  const body = problem(error.statusCode === 429 ? "rate_limit_exceeded" : "invalid_api_key");
  reply.code(body.status).send(body);
});

app.decorateRequest("account", null);
await app.register(bearerAuth, {
  keys: new Set(),
  errorResponse: () => problem("invalid_api_key"),
  auth(key, request) {
    request.account = database.accountOf(key);
    return request.account !== undefined;
  },
});

// One registration per window: the second limiter of one registration would not run.
const window = (timeWindow, max, shown) =>
  app.register(rateLimit, {
    timeWindow,
    max: (request) => request.account[max],
    keyGenerator: (request) => request.account.id,
    addHeadersOnExceeding: {
      "x-ratelimit-limit": shown,
      "x-ratelimit-remaining": shown,
      "x-ratelimit-reset": shown,
    },
  });
await window(60_000, "perMinute", true);
await window(86_400_000, "perDay", false);

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
