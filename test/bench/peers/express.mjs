/** Express with express-rate-limit. */
import express from "express";
import { rateLimit } from "express-rate-limit";
import { announce, openDatabase, problem } from "./database.mjs";

const database = openDatabase();
const app = express();
app.disable("x-powered-by");
app.disable("etag");

const reject = (response, code) => {
  const body = problem(code);
  response.status(body.status).json(body);
};

app.use((request, response, next) => {
  const [scheme, key] = (request.get("authorization") ?? "").split(" ");
  if (scheme.toLowerCase() !== "bearer" || !key) return reject(response, "missing_api_key");
  request.account = database.accountOf(key);
  if (request.account === undefined) return reject(response, "invalid_api_key");
  next();
});

const window = (windowMs, limit, legacyHeaders) =>
  rateLimit({
    windowMs,
    limit: (request) => request.account[limit],
    keyGenerator: (request) => request.account.id,
    legacyHeaders,
    standardHeaders: false,
    handler: (_request, response) => reject(response, "rate_limit_exceeded"),
  });
app.use(window(60_000, "perMinute", true));
app.use(window(86_400_000, "perDay", false));

app.get("/v1/store/orders", (_request, response) => response.json(database.orders()));
app.delete("/v1/store/orders/:id", (request, response) => {
  const failure = database.cancel(Number(request.params.id));
  if (failure !== undefined) return reject(response, failure);
  response.status(204).end();
});

const server = app.listen(0, "127.0.0.1", () => announce(server.address().port));
