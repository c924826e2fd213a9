/**
 * One of several processes that serve a hot account and many quiet ones: `worker-process.ts TASK`. It reports that it is
 * ready, starts when the parent sends `go`, and then sends its outcomes. The environment names the engine.
 */
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { withRejectionCache } from "../../../lib/accounts/rejection-cache.ts";
import { isStoreUnavailable } from "../../../lib/core/errors.ts";
import { failureReply } from "../../../lib/http/response.ts";
import { createDynamodbStore } from "../../../lib/stores/dynamodb/index.ts";
import { hashOf, type Outcome, type Outcomes, type Task } from "./task.ts";

/** No key is banned, because a ban would end the run. */
const POLICY = { maxRejections: 90_000, durationMs: 1 };

const task = JSON.parse(process.argv[2] ?? "{}") as Task;
const store = createDynamodbStore({ prefix: task.prefix });
const accounts = withRejectionCache(store.accounts);
// The first requests of a process and of the emulator take long.
for (let call = 0; call < 10; call++) await request("warm-up");
process.send?.("ready");
await once(process, "message");
const started = Date.now();
const [hot, quiet] = await Promise.all([requestHot(), requestQuiet()]);
process.send?.({ hot, quiet } satisfies Outcomes);
await once(process, "disconnect");
await store.close();

/** Does not wait for the responses: a caller that waits would slow down with the service. */
async function requestHot(): Promise<readonly Outcome[]> {
  const { hotAfterMs, hotEveryMs, durationMs } = task;
  const outcomes: Promise<Outcome>[] = [];
  for (let at = hotAfterMs; at < durationMs; at += hotEveryMs) {
    await sleep(Math.max(0, started + at - Date.now()));
    outcomes.push(request("hot"));
  }
  return Promise.all(outcomes);
}

async function requestQuiet(): Promise<readonly Outcome[]> {
  const { quietAccounts, durationMs } = task;
  return Promise.all(
    quietAccounts.map(async (account, index) => {
      await sleep((index / quietAccounts.length) * durationMs);
      return request(account);
    }),
  );
}

async function request(accountId: string): Promise<Outcome> {
  const began = performance.now();
  const at = Math.min(Date.now() + task.clockOffsetMs, task.windowEnd - 1);
  const account = accountId;
  try {
    const admission = await accounts.admit({ accountId, hash: hashOf(accountId) }, at, POLICY);
    const timing = { account, at, waitedMs: performance.now() - began };
    if (admission.ok) return { code: "admitted", resetsAt: admission.quota.resetsAt, ...timing };
    if (admission.code === "invalid_api_key") return { code: admission.code, ...timing };
    const { code, retryAfterSeconds, quota } = admission;
    return { code, retryAfterSeconds, resetsAt: quota.resetsAt, ...timing };
  } catch (error) {
    if (!isStoreUnavailable(error)) throw error;
    const retryAfterSeconds = Number(failureReply(error).headers?.["retry-after"]);
    const isThrottled = String(error).includes("throttles");
    const waitedMs = performance.now() - began;
    return { account, code: "store_unavailable", isThrottled, retryAfterSeconds, at, waitedMs };
  }
}
