/**
 * One of several processes on one database: `worker-process.ts JOB PATH …`. Prints `ready`, runs the job when it receives
 * input, and prints the result as JSON.
 */
import { once } from "node:events";
import { createSqliteStore } from "../../../lib/stores/sqlite/index.ts";

const [job = "", path = "", ...rest] = process.argv.slice(2);
const waitForGo = async () => {
  process.stdout.write("ready\n");
  await once(process.stdin, "data");
};
if (job === "open") await waitForGo();
const store = createSqliteStore({ path });
if (job !== "open") await waitForGo();

const jobs: Record<string, () => Promise<unknown>> = {
  async admit() {
    const [accountId = "", hash = "", calls = "", at = ""] = rest;
    const results = await Promise.all(
      Array.from({ length: Number(calls) }, () => store.accounts.admit({ accountId, hash }, Number(at))),
    );
    return results.map((result) => (result.ok ? "admitted" : result.code));
  },

  async race() {
    const [event = "", orders = "", at = ""] = rest;
    const succeeded: number[] = [];
    const statuses: Record<string, string> = {};
    const ids = Array.from({ length: Number(orders) }, (_, id) => id);
    // Start at both ends, so that each event succeeds for some orders however the processes are scheduled.
    for (const id of event === "cancel" ? ids : ids.toReversed()) {
      const result = await store.orders.apply(BigInt(id), event as "cancel" | "ship", Number(at));
      if (result.ok) succeeded.push(id);
      else statuses[id] = result.code === "order_not_found" ? "missing" : result.status;
    }
    return { event, succeeded, statuses };
  },

  /** Updates the plan and the keys of an account together, repeatedly. */
  async update() {
    const [id = "", times = ""] = rest;
    for (let time = 1; time <= Number(times); time++) {
      await store.accounts.update(id, ({ keys }) => ({
        ok: true,
        account: {
          id,
          plan: "enterprise",
          customLimits: { perMinute: time, perDay: time },
          keys: keys.map((key) => ({ ...key, expiresAt: time })),
        },
      }));
    }
    return "updated";
  },

  open: async () => "opened",
};

const result = await jobs[job]?.();
await store.close();
process.stdout.write(JSON.stringify(result));
process.stdin.destroy();
