/** Express with express-rate-limit. */
import express from "express";
import { rateLimit } from "express-rate-limit";
import { announce, openShop, problem } from "./database.mjs";

const shop = openShop();
const app = express();
app.disable("x-powered-by");
app.disable("etag");

const refuse = (response, code) => {
  const body = problem(code);
  response.status(body.status).json(body);
};

app.use((request, response, next) => {
  const [scheme, key] = (request.get("authorization") ?? "").split(" ");
  if (scheme.toLowerCase() !== "bearer" || !key) return refuse(response, "missing_api_key");
  request.account = shop.accountOf(key);
  if (request.account === undefined) return refuse(response, "invalid_api_key");
  next();
});

const window = (windowMs, limit, legacyHeaders) =>
  rateLimit({
    windowMs,
    limit: (request) => request.account[limit],
    keyGenerator: (request) => request.account.id,
    legacyHeaders,
    standardHeaders: false,
    handler: (_request, response) => refuse(response, "rate_limit_exceeded"),
  });
app.use(window(60_000, "perMinute", true));
app.use(window(86_400_000, "perDay", false));

app.get("/v1/store/orders", (_request, response) => response.json(shop.orders()));
app.delete("/v1/store/orders/:id", (request, response) => {
  const refused = shop.cancel(Number(request.params.id));
  if (refused !== undefined) return refuse(response, refused);
  response.status(204).end();
});

const server = app.listen(0, "127.0.0.1", () => announce(server.address().port));
