#!/usr/bin/env bash
# What servers say of a limit of 2 requests, and what a reader understands: express-rate-limit 8.7.5, @fastify/rate-limit
# 11.2.0, koa-ratelimit 6.0.0 and hapi-rate-limit 8.0.0, read by ratelimit-header-parser 0.1.0 of express-rate-limit's authors.
# "Reset" is seconds from now, an instant in seconds, one with a fraction, or one in milliseconds. hapi counts below zero, and
# its 429 has no Retry-After. The parser finds nothing in the newest form of the headers that express-rate-limit sends
# (draft-8), and does not report it: each field is NaN. So no client can read a "reset" without knowing the server.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

npm install --no-audit --no-fund --loglevel=error --ignore-scripts ratelimit-header-parser@0.1.0 express@5.2.1 \
  express-rate-limit@8.7.5 fastify@5.12.8 @fastify/rate-limit@11.2.0 koa@3.3.0 koa-ratelimit@6.0.0 @hapi/hapi@21.4.10 \
  hapi-rate-limit@8.0.0 >/dev/null
cat >main.mjs <<'JS'
import { once } from "node:events";
import Hapi from "@hapi/hapi";
import express from "express";
import { rateLimit } from "express-rate-limit";
import fastify from "fastify";
import fastifyLimit from "@fastify/rate-limit";
import hapiLimit from "hapi-rate-limit";
import Koa from "koa";
import koaLimit from "koa-ratelimit";
import { parseRateLimit } from "ratelimit-header-parser";

const WINDOW_MS = 60_000;

function unitOf(reset) {
  if (Number(reset) < 1e6) return "seconds from now";
  if (Number(reset) > 1e12) return "an instant in ms";
  return Number.isInteger(Number(reset)) ? "an instant in s" : "an instant in s with a fraction";
}

async function third(name, url) {
  let response;
  for (let request = 0; request < 3; request++) response = await fetch(url);
  const { headers } = response;
  const find = (pattern) => [...headers].find(([header]) => pattern.test(header))?.[1];
  const reset = find(/reset$/) ?? /(?:reset|t)=(\d+)/.exec(headers.get("ratelimit"))?.[1];
  const remaining = find(/remaining$/) ?? /(?:remaining|r)=(-?\d+)/.exec(headers.get("ratelimit"))?.[1];
  const read = parseRateLimit(response);
  const understood = read === undefined ? "no headers" : `limit ${read.limit}, remaining ${read.remaining}`;
  const wait = headers.has("retry-after") ? "with" : "without";
  console.log(`${name}: ${response.status} ${wait} Retry-After, remaining ${remaining}, reset ${unitOf(reset)}; read as ${understood}`);
}

for (const standardHeaders of ["draft-7", "draft-8", false]) {
  const app = express();
  app.use(rateLimit({ windowMs: WINDOW_MS, limit: 2, standardHeaders, legacyHeaders: !standardHeaders }));
  app.get("/", (_, response) => void response.send("ok"));
  const server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  await third(`express ${standardHeaders || "legacy"}`, `http://127.0.0.1:${server.address().port}`);
}
const app = fastify();
await app.register(fastifyLimit, { max: 2, timeWindow: WINDOW_MS });
app.get("/", async () => "ok");
await third("fastify", await app.listen({ port: 0, host: "127.0.0.1" }));

const koa = new Koa();
koa.use(koaLimit({ driver: "memory", db: new Map(), duration: WINDOW_MS, max: 2 }));
koa.use((context) => {
  context.body = "ok";
});
const koaServer = koa.listen(0, "127.0.0.1");
await once(koaServer, "listening");
await third("koa", `http://127.0.0.1:${koaServer.address().port}`);

const hapi = Hapi.server({ port: 0, host: "127.0.0.1" });
await hapi.register({ plugin: hapiLimit, options: { userLimit: 2, pathLimit: false } });
hapi.route({ method: "GET", path: "/", handler: () => "ok" });
await hapi.start();
await third("hapi", hapi.info.uri);
process.exit();
JS
node main.mjs | tee seen
expected='express draft-7: 429 with Retry-After, remaining 0, reset seconds from now; read as limit 2, remaining 0
express draft-8: 429 with Retry-After, remaining 0, reset seconds from now; read as limit NaN, remaining NaN
express legacy: 429 with Retry-After, remaining 0, reset an instant in s; read as limit 2, remaining 0
fastify: 429 with Retry-After, remaining 0, reset seconds from now; read as limit 2, remaining 0
koa: 429 with Retry-After, remaining 0, reset an instant in s with a fraction; read as limit 2, remaining 0
hapi: 429 without Retry-After, remaining -1, reset an instant in ms; read as no headers'
diff <(echo "$expected") seen
