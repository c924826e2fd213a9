import { subscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import { availableParallelism } from "node:os";
import { PerformanceObserver } from "node:perf_hooks";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

let isTuned = false;

/**
 * Tunes the whole process for a server, with its worker threads:
 *
 * - It takes about 50 MiB less memory under load (`limitHeapGrowth`).
 * - It is fast after a tenth of the requests (`optimizeEarly`).
 * - It answers one client that sends one request after another a quarter faster (`keepAwake`).
 *
 * Call it once, in a program of which you own the process. What a flag of Node sets, it leaves alone. It changes nothing
 * in another runtime, or in a version of Node other than 24. See test/bench/README.md#tuning.
 */
export function tuneProcess(): void {
  const { v8, bun, deno } = process.versions;
  // The flags were tested with the V8 of Node 24. Bun and Deno name one as well.
  if (isTuned || !v8.startsWith("13.") || bun || deno) return;
  isTuned = true;
  limitHeapGrowth();
  optimizeEarly();
  // With one processor, the client needs it.
  if (availableParallelism() > 1) keepAwake();
}

/** True if Node was started with a flag of V8 whose name contains `name`. */
function isFlagGiven(name: string): boolean {
  const { execArgv, env } = process;
  return `${execArgv.join(" ")} ${env["NODE_OPTIONS"] ?? ""}`.replaceAll("_", "-").includes(name);
}

/**
 * The size at which the young generation stops growing. From a smaller one, short-lived objects of many connections get
 * into the old generation; a larger one is not faster.
 */
const MAX_YOUNG_GENERATION_BYTES = 16 * 2 ** 20;

/**
 * Stops the growth of V8's young generation, which saves about 40 MiB, and frees the memory of V8's compiler as soon as
 * a function is compiled, which saves 10 MiB on a busy server.
 */
function limitHeapGrowth(): void {
  if (!isFlagGiven("maglev-destroy")) setFlagsFromString("--no-maglev-destroy-on-background");
  if (isFlagGiven("semi-space")) return;
  // V8 can only be told by what factor to grow. An idle process shrinks the generation, and then it may grow again.
  let mayGrow = true;
  const observer = new PerformanceObserver(() => {
    const young = getHeapSpaceStatistics().find((space) => space.space_name === "new_space");
    const isSmall = (young?.space_size ?? 0) < MAX_YOUNG_GENERATION_BYTES;
    if (isSmall === mayGrow) return;
    mayGrow = isSmall;
    setFlagsFromString(`--semi-space-growth-factor=${mayGrow ? 2 : 1}`);
  });
  observer.observe({ entryTypes: ["gc"] });
}

/** V8 waits for 10,000 calls. A function of usual size that runs once in each request is optimized after as many. */
const CALLS_BEFORE_OPTIMIZING = 1_000;

/** Makes V8's best compiler optimize a function after 1,000 calls instead of 10,000. */
function optimizeEarly(): void {
  const flag = "invocation-count-for-turbofan";
  if (!isFlagGiven(flag)) setFlagsFromString(`--${flag}=${CALLS_BEFORE_OPTIMIZING}`);
}

/** The longest pause between a response and the next request for which the event loop stays awake. */
const MAX_PAUSE_MS = 0.2;

/** The number of requests of one client, each after such a pause, from which on the event loop stays awake. */
const MIN_REQUESTS = 8;

/**
 * Keeps the event loop from sleeping for at most 0.2 ms after a response, while one client sends one request after
 * another: to fall asleep and wake up takes about as long.
 */
export function keepAwake(): void {
  let client: Socket | undefined;
  let requests = 0;
  let isResponding = false;
  let awakeUntil = 0;

  /** The event loop does not sleep while a callback is due in its next turn. */
  function stayAwake(): void {
    if (!isResponding && performance.now() < awakeUntil) setImmediate(stayAwake);
  }

  subscribe("http.server.request.start", (message) => {
    const { socket } = message as { readonly socket: Socket };
    const isNext = socket === client && !isResponding && performance.now() < awakeUntil;
    requests = isNext ? requests + 1 : 0;
    client = socket;
    isResponding = true;
  });
  subscribe("http.server.response.finish", () => {
    isResponding = false;
    awakeUntil = performance.now() + MAX_PAUSE_MS;
    if (requests >= MIN_REQUESTS) setImmediate(stayAwake);
  });
}
