/**
 * Another client of the service: sends small requests, a millisecond apart, until the parent sends `stop`, then reports the
 * longest latency. `latency-probe-process.ts URL KEY`.
 */
import { once } from "node:events";
import { Agent, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

const [url = "", key = ""] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true });
const headers = { authorization: `Bearer ${key}` };

async function measure(): Promise<number> {
  const startedAt = performance.now();
  // A server that was blocked closes idle connections. Every client then retries.
  await send().catch(send);
  return performance.now() - startedAt;
}

async function send(): Promise<void> {
  const sent = request(`${url}/v1/store/orders/1`, { method: "DELETE", headers, agent }).end();
  const [response] = await once(sent, "response");
  response.resume();
  await once(response, "end");
}

for (let request = 0; request < 50; request++) await measure();
let [isRunning, longest] = [true, 0];
process.once("message", () => {
  isRunning = false;
});
process.send?.("ready");
while (isRunning) {
  longest = Math.max(longest, await measure());
  await sleep(1);
}
process.send?.(longest);
process.disconnect();
