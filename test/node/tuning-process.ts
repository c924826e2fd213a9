/**
 * Measures the process that it runs in: `tuning-process.ts [heap | optimization | awake] [tuned | server | plain]
 * [untested | bun]`. `server` is one that has served 50 requests and is not tuned. Prints one number, or several as JSON.
 */
import { Session } from "node:inspector";
import { connect } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { isMainThread, Worker, workerData } from "node:worker_threads";
import { startNodeServer } from "../../lib/node/server.ts";
import { tuneProcess } from "../../lib/node/tuning.ts";
import { load, youngMiB } from "./tuning-load.ts";

if (isMainThread) {
  const [, , measure = "", mode = "", runtime = ""] = process.argv;
  const versions: Readonly<Record<string, object>> = { untested: { v8: "99.0" }, bun: { bun: "1.3.0" } };
  Object.defineProperty(process, "versions", { value: { ...process.versions, ...versions[runtime] } });
  if (mode === "tuned") for (let call = 0; call < 2; call++) tuneProcess();
  if (mode === "server") await serveRequests();
  const measures = { heap: measureHeap, optimization: countCalls, awake: countBusyHundreds };
  const result = await measures[measure as keyof typeof measures]();
  process.stdout.write(JSON.stringify(result));
  process.exit();
} else sendRequests(workerData as number);

async function serveRequests(): Promise<void> {
  const server = await startNodeServer({ handler: async () => new Response(), port: 0 });
  for (let request = 0; request < 50; request++) await fetch(server.url);
  await server.close();
}

/** The largest size of the young generation under load, after idleness, and under another load, in MiB. */
async function measureHeap() {
  const loaded = await load();
  const session = new Session();
  session.connect();
  // As V8 does when the process is idle.
  session.post("HeapProfiler.collectGarbage");
  await turn();
  const idle = youngMiB();
  return { loaded, idle, again: await load() };
}

/**
 * The hundreds of calls, up to 60, after which V8's best compiler has optimized a function. Needs
 * `--allow-natives-syntax` and `--no-concurrent-recompilation`.
 */
async function countCalls(): Promise<number> {
  const usual = (order: { readonly id: number; readonly status: string }) =>
    order.status === "pending" ? `${order.id}: ${order.status}` : order.status;
  const optimizationStatus = new Function("f", "return %GetOptimizationStatus(f)");
  const TURBOFANNED = 1 << 6;
  let hundreds = 0;
  for (; hundreds < 60 && (optimizationStatus(usual) & TURBOFANNED) === 0; hundreds++) {
    for (let call = 0; call < 100; call++) usual({ id: call, status: "pending" });
  }
  return hundreds;
}

/**
 * A client sends one request after another. Counts the hundreds of requests in which the event loop turned more than twice
 * for each, on average. Ends once there were eight, or after 10,000 requests.
 */
async function countBusyHundreds(): Promise<number> {
  const [BATCH, MAX_REQUESTS, ENOUGH] = [100, 10_000, 8];
  const turns = () => performance.nodeTiming.uvMetricsInfo.loopCount;
  const { promise, resolve } = Promise.withResolvers<number>();
  let count = 0;
  let before = turns();
  let busy = 0;
  const handler = async () => {
    if (++count % BATCH === 0) {
      if (turns() - before > 2 * BATCH) busy++;
      before = turns();
      if (busy === ENOUGH || count === MAX_REQUESTS) resolve(busy);
    }
    return new Response();
  };
  const { url } = await startNodeServer({ handler, port: 0 });
  new Worker(new URL(import.meta.url), { workerData: Number(new URL(url).port) });
  return promise;
}

function sendRequests(port: number): void {
  const socket = connect(port, "127.0.0.1");
  const send = () => socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  socket.setNoDelay().on("connect", send).on("data", send);
}
