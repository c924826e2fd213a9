#!/usr/bin/env bash
# Limiters that count in memory, after the clock of their machine is set back by an hour, as NTP or a resumed machine does:
# express-rate-limit 8.7.5, @fastify/rate-limit 11.2.0, hono-rate-limiter 0.5.4, hapi-rate-limit 8.0.0, koa-ratelimit 6.0.0,
# rate-limiter-flexible 11.4.0 and limiter 4.1.0 (npm), limits 5.8.0 (PyPI, behind Flask-Limiter and SlowAPI).
# With a limit of 2 in 4 seconds, the first four refuse a caller that goes on, and announce an hour in Retry-After (hapi
# sends none); so do the fixed and the moving window of limits, which have no header. koa-ratelimit announces the hour too,
# but admits after 4 seconds. The sliding window of limits and the last two do not notice. None of them reports anything:
# callers meet a limit of an hour.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

npm install --no-audit --no-fund --loglevel=error --ignore-scripts express@5.3.0 express-rate-limit@8.7.5 fastify@5.12.8 \
  @fastify/rate-limit@11.2.0 hono@4.13.19 @hono/node-server@2.1.9 hono-rate-limiter@0.5.4 @hapi/hapi@21.4.10 \
  hapi-rate-limit@8.0.0 koa@3.3.0 koa-ratelimit@6.0.0 rate-limiter-flexible@11.4.0 limiter@4.1.0 >/dev/null
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check limits==5.8.0

cat >main.mjs <<'JS'
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import Hapi from "@hapi/hapi";
import { serve } from "@hono/node-server";
import express from "express";
import { rateLimit } from "express-rate-limit";
import fastify from "fastify";
import fastifyLimit from "@fastify/rate-limit";
import hapiLimit from "hapi-rate-limit";
import { Hono } from "hono";
import { rateLimiter } from "hono-rate-limiter";
import Koa from "koa";
import koaLimit from "koa-ratelimit";
import { RateLimiter } from "limiter";
import { RateLimiterMemory } from "rate-limiter-flexible";

const WINDOW_MS = 4_000;
// The wall clock, as a program sees it. Timers and the monotonic clock go on, as when an administrator sets the time.
const System = Date;
let offset = 0;
globalThis.Date = class extends System {
  constructor(...args) {
    super(...(args.length > 0 ? args : [System.now() + offset]));
  }
  static now = () => System.now() + offset;
};

const through = (address) => async () => {
  const { status, headers } = await fetch(typeof address === "string" ? address : `http://127.0.0.1:${address.port}`);
  return { ok: status === 200, retryAfter: Number(headers.get("retry-after") ?? NaN) };
};
const listening = async (server) => {
  await once(server, "listening");
  return through(server.address());
};
const limiters = {
  "express-rate-limit"() {
    const app = express().use(rateLimit({ windowMs: WINDOW_MS, limit: 2 }));
    return listening(app.get("/", (_request, response) => response.end("ok")).listen(0));
  },
  async "@fastify/rate-limit"() {
    const app = fastify();
    await app.register(fastifyLimit, { max: 2, timeWindow: WINDOW_MS });
    app.get("/", () => "ok");
    return through(await app.listen({ port: 0 }));
  },
  "hono-rate-limiter"() {
    const app = new Hono().use(rateLimiter({ windowMs: WINDOW_MS, limit: 2, keyGenerator: () => "one" }));
    return listening(serve({ fetch: app.get("/", (context) => context.text("ok")).fetch, port: 0 }));
  },
  async "hapi-rate-limit"() {
    const server = Hapi.server({ host: "127.0.0.1" });
    const options = { userLimit: 2, userCache: { expiresIn: WINDOW_MS }, pathLimit: false };
    await server.register({ plugin: hapiLimit, options });
    server.route({ method: "GET", path: "/", handler: () => "ok" });
    await server.start();
    return through(server.info.uri);
  },
  "koa-ratelimit"() {
    const options = { driver: "memory", db: new Map(), duration: WINDOW_MS, max: 2, id: () => "one" };
    return listening(new Koa().use(koaLimit(options)).use((context) => void (context.body = "ok")).listen(0));
  },
  "rate-limiter-flexible"() {
    const limiter = new RateLimiterMemory({ points: 2, duration: WINDOW_MS / 1_000 });
    return () => limiter.consume("one").then(() => ({ ok: true }), () => ({ ok: false }));
  },
  limiter() {
    const limiter = new RateLimiter({ tokensPerInterval: 2, interval: WINDOW_MS });
    return () => ({ ok: limiter.tryRemoveTokens(1) });
  },
};

for (const hours of [0, 1]) {
  const runs = [];
  for (const [name, open] of Object.entries(limiters)) {
    const ask = await open();
    const first = [(await ask()).ok, (await ask()).ok, (await ask()).ok].join();
    if (first !== "true,true,false") throw new Error(`${name}: ${first}`);
    runs.push({ name, ask, isAdmitted: false });
  }
  offset = -hours * 3_600_000;
  for (let pause = 0; pause < 40; pause++) {
    await sleep(250);
    for (const run of runs) {
      const { ok, retryAfter } = await run.ask();
      if (ok) run.isAdmitted = true;
      else if (pause === 0) run.retryAfter = retryAfter;
    }
  }
  offset = 0;
  for (const { name, isAdmitted, retryAfter } of runs) {
    const told = retryAfter > 0 ? `, Retry-After ${retryAfter > 3_500 ? "an hour" : "a window"}` : "";
    console.log(`set back by ${hours} h, ${name}: ${isAdmitted ? "admitted again" : "refused"}${told}`);
  }
}
process.exit();
JS
cat >main.py <<'PY'
import time

system, offset = time.time, 0
time.time = lambda: system() + offset

from limits import RateLimitItemPerSecond, strategies
from limits.storage import MemoryStorage

item = RateLimitItemPerSecond(2, 4)
for hours in (0, 1):
    names = ["FixedWindow", "MovingWindow", "SlidingWindowCounter"]
    limiters = {name: getattr(strategies, name + "RateLimiter")(MemoryStorage()) for name in names}
    # The sliding window's own windows begin with a multiple of their length.
    while system() % 4 > 0.5:
        time.sleep(0.05)
    for limiter in limiters.values():
        assert [limiter.hit(item, "one") for _ in range(3)] == [True, True, False]
    offset = -3600 * hours
    again = set()
    for _ in range(40):
        time.sleep(0.25)
        again |= {name for name, limiter in limiters.items() if limiter.hit(item, "one")}
    offset = 0
    for name in names:
        print(f"set back by {hours} h, limits {name}: {'admitted again' if name in again else 'refused'}")
PY
{
  node main.mjs
  python/bin/python main.py
} | tee seen
expected='set back by 0 h, express-rate-limit: admitted again, Retry-After a window
set back by 0 h, @fastify/rate-limit: admitted again, Retry-After a window
set back by 0 h, hono-rate-limiter: admitted again, Retry-After a window
set back by 0 h, hapi-rate-limit: admitted again
set back by 0 h, koa-ratelimit: admitted again, Retry-After a window
set back by 0 h, rate-limiter-flexible: admitted again
set back by 0 h, limiter: admitted again
set back by 1 h, express-rate-limit: refused, Retry-After an hour
set back by 1 h, @fastify/rate-limit: refused, Retry-After an hour
set back by 1 h, hono-rate-limiter: refused, Retry-After an hour
set back by 1 h, hapi-rate-limit: refused
set back by 1 h, koa-ratelimit: admitted again, Retry-After an hour
set back by 1 h, rate-limiter-flexible: admitted again
set back by 1 h, limiter: admitted again
set back by 0 h, limits FixedWindow: admitted again
set back by 0 h, limits MovingWindow: admitted again
set back by 0 h, limits SlidingWindowCounter: admitted again
set back by 1 h, limits FixedWindow: refused
set back by 1 h, limits MovingWindow: refused
set back by 1 h, limits SlidingWindowCounter: admitted again'
diff <(echo "$expected") seen
