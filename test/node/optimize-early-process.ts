/**
 * Calls a function until V8's best compiler has optimized it, and prints how many hundreds of calls that took, up to 60:
 * `optimize-early-process.ts [early | REQUESTS | REQUESTS-late] [untested | bun]`, with `--allow-natives-syntax` and
 * `--no-concurrent-recompilation`. With REQUESTS, a server has served as many before; `late` is one without the function.
 */
import { optimizeEarly } from "../../lib/node/optimize-early.ts";
import { startNodeServer } from "../../lib/node/server.ts";

const [, , mode = "", runtime = ""] = process.argv;
const versions: Readonly<Record<string, object>> = { untested: { v8: "99.0" }, bun: { bun: "1.3.0" } };
Object.defineProperty(process, "versions", { value: { ...process.versions, ...versions[runtime] } });
if (mode === "early") optimizeEarly(process);
const [requests = "", late] = mode.split("-");
if (Number(requests) > 0) {
  const handler = async () => new Response();
  const server = await startNodeServer({ handler, port: 0, optimizeEarly: late === undefined });
  for (let request = 0; request < Number(requests); request++) await fetch(server.url);
  await server.close();
}

const usual = (order: { readonly id: number; readonly status: string }) =>
  order.status === "pending" ? `${order.id}: ${order.status}` : order.status;

const optimizationStatus = new Function("f", "return %GetOptimizationStatus(f)");
const TURBOFANNED = 1 << 6;
let hundreds = 0;
for (; hundreds < 60 && (optimizationStatus(usual) & TURBOFANNED) === 0; hundreds++) {
  for (let call = 0; call < 100; call++) usual({ id: call, status: "pending" });
}
process.stdout.write(`${hundreds}`);
