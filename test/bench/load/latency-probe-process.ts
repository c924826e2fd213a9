/**
 * Somebody else who uses the service meanwhile: one small request after the other, a millisecond apart, until the
 * parent says stop; then tells the longest wait. `bystander-process.ts URL KEY`.
 */
import { once } from "node:events";
import { Agent, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

const [url = "", key = ""] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true });
const headers = { authorization: `Bearer ${key}` };

async function ask(): Promise<number> {
  const began = performance.now();
  // A server that stood still closes connections that have been idle for it; every client sends again then.
  await send().catch(send);
  return performance.now() - began;
}

async function send(): Promise<void> {
  const sent = request(`${url}/v1/store/orders/1`, { method: "DELETE", headers, agent }).end();
  const [response] = await once(sent, "response");
  response.resume();
  await once(response, "end");
}

for (let request = 0; request < 50; request++) await ask();
let [asking, longest, requests] = [true, 0, 0];
process.once("message", () => {
  asking = false;
});
process.send?.("ready");
while (asking) {
  longest = Math.max(longest, await ask());
  requests++;
  await sleep(1);
}
process.send?.({ longest, requests });
process.disconnect();
