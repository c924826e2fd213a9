/**
 * Admission without HTTP, in its own process: `admission-process.ts '{"store": "sqlite", …}'` reports the
 * microseconds of a check to its parent.
 */
import { parseKey } from "../../../lib/accounts/hash-key.ts";
import { createDynamodbStore } from "../../../lib/stores/dynamodb/index.ts";
import { createMemoryStore } from "../../../lib/stores/memory.ts";
import { createSqliteStore } from "../../../lib/stores/sqlite/index.ts";
import { createAccountWithKey, ENTERPRISE } from "../fixture.ts";

/** What to measure. */
export interface AdmissionTask {
  readonly store: "memory" | "sqlite" | "dynamodb";
  readonly path: string;
  readonly prefix: string;
  readonly checks: number;
}

/** Microseconds of a check. */
export interface AdmissionCost {
  /** Sequential checks. */
  readonly single: number;
  /** The processor time of a sequential check in this process. */
  readonly processor: number;
  /** 32 concurrent checks. */
  readonly concurrent: number;
  /** 32 concurrent checks over the limit, with bans out of reach. */
  readonly rejected: number;
}

const task: AdmissionTask = JSON.parse(process.argv[2] ?? "{}");
const store = openStore();
const key = await createAccountWithKey(store, `shop-${process.pid}`, ENTERPRISE);
const freeKey = await createAccountWithKey(store, `free-${process.pid}`, { plan: "free" });

let now = Date.now();
// The clock advances with each check, so that no window is ever full.
const admittedCheck = createCheck(key, () => {
  now += 2;
  return now;
});
const fixed = Date.now();
const rejected = createCheck(freeKey, () => fixed);
for (let warm = 0; warm < 100; warm++) await Promise.all([admittedCheck(), rejected()]);
const before = process.cpuUsage();
const single = await timed(admittedCheck, 1);
const { user, system } = process.cpuUsage(before);
const cost: AdmissionCost = {
  single,
  processor: (user + system) / task.checks,
  concurrent: await timed(admittedCheck, 32),
  rejected: await timed(rejected, 32),
};
process.send?.(cost);
process.disconnect();
await store.close();

function openStore() {
  if (task.store === "memory") return createMemoryStore();
  if (task.store === "sqlite") return createSqliteStore({ path: task.path });
  return createDynamodbStore({ prefix: task.prefix });
}

function createCheck(key: string, clock: () => number): () => Promise<unknown> {
  const policy = { maxRejections: 1_000_000_000, durationMs: 1 };
  return async () => {
    const parsed = parseKey(key);
    if (parsed !== undefined) await store.accounts.admit(parsed, clock(), policy);
  };
}

async function timed(check: () => Promise<unknown>, concurrency: number): Promise<number> {
  const each = Math.ceil(task.checks / concurrency);
  const startedAt = performance.now();
  const caller = async () => {
    for (let done = 0; done < each; done++) await check();
  };
  await Promise.all(Array.from({ length: concurrency }, caller));
  return ((performance.now() - startedAt) * 1000) / (each * concurrency);
}
