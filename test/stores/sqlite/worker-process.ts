/**
 * One of several processes on one database: says that it is ready, does a job when it is told to go, and prints
 * what came of it, as JSON.
 */
import { once } from "node:events";
import { createSqliteStore } from "../../../lib/stores/sqlite/index.ts";

const [job = "", path = "", ...rest] = process.argv.slice(2);
const whenTold = async () => {
  process.stdout.write("ready\n");
  await once(process.stdin, "data");
};
if (job === "open") await whenTold();
const store = createSqliteStore({ path });
if (job !== "open") await whenTold();

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
    const won: number[] = [];
    const told: Record<string, string> = {};
    const ids = Array.from({ length: Number(orders) }, (_, id) => id);
    // From both ends, so that however the processes are scheduled each event wins some, and all meet in the middle.
    for (const id of event === "cancel" ? ids : ids.toReversed()) {
      const result = await store.orders.apply(BigInt(id), event as "cancel" | "ship", Number(at));
      if (result.ok) won.push(id);
      else told[id] = result.code === "order_not_found" ? "missing" : result.status;
    }
    return { event, won, told };
  },

  /** Changes an account's plan and its keys together, over and over. */
  async change() {
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
    return "changed";
  },

  open: async () => "opened",
};

const result = await jobs[job]?.();
await store.close();
process.stdout.write(JSON.stringify(result));
process.stdin.destroy();
