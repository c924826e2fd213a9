/** Hono on its Node server, with its own bearer authentication and hono-rate-limiter. */
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { bearerAuth } from "hono/bearer-auth";
import { rateLimiter } from "hono-rate-limiter";
import { announce, openDatabase, problem } from "./database.mjs";

const database = openDatabase();
const app = new Hono();

const reject = (context, code) => {
  const body = problem(code);
  return context.json(body, body.status);
};

app.use(
  bearerAuth({
    noAuthenticationHeader: { message: problem("missing_api_key") },
    invalidToken: { message: problem("invalid_api_key") },
    verifyToken(key, context) {
      const account = database.accountOf(key);
      context.set("account", account);
      return account !== undefined;
    },
  }),
);

// The limiter supports only the headers of later drafts, so those of the service are set here.
const setLimitHeaders = (context) => {
  const { limit, remaining, resetTime } = context.get("minute");
  context.header("X-RateLimit-Limit", `${limit}`);
  context.header("X-RateLimit-Remaining", `${remaining}`);
  context.header("X-RateLimit-Reset", `${Math.ceil(resetTime.getTime() / 1000)}`);
};
const window = (windowMs, limit, requestPropertyName) =>
  rateLimiter({
    windowMs,
    limit: (context) => context.get("account")[limit],
    keyGenerator: (context) => context.get("account").id,
    standardHeaders: false,
    requestPropertyName,
    handler: (context) => {
      const { resetTime } = context.get(requestPropertyName);
      setLimitHeaders(context);
      context.header("Retry-After", `${Math.max(1, Math.ceil((resetTime.getTime() - Date.now()) / 1000))}`);
      return reject(context, "rate_limit_exceeded");
    },
  });
app.use(window(60_000, "perMinute", "minute"));
app.use(window(86_400_000, "perDay", "day"));

app.get("/v1/store/orders", (context) => {
  setLimitHeaders(context);
  return context.json(database.orders());
});
app.delete("/v1/store/orders/:id", (context) => {
  setLimitHeaders(context);
  const failure = database.cancel(Number(context.req.param("id")));
  return failure === undefined ? context.body(null, 204) : reject(context, failure);
});

serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 }, ({ port }) => announce(port));
