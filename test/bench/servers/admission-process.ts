/**
 * Admission alone, without HTTP, in a process of its own: `admission-process.ts '{"store": "sqlite", …}'` tells its
 * parent the microseconds of a check.
 */
import { parseKey } from "../../../lib/accounts/api-key.ts";
import { createDynamodbStore } from "../../../lib/stores/dynamodb/index.ts";
import { createMemoryStore } from "../../../lib/stores/memory.ts";
import { createSqliteStore } from "../../../lib/stores/sqlite/index.ts";
import { ENTERPRISE, openAccount } from "../fixture.ts";

/** What to measure. */
export interface AdmissionTask {
  readonly store: "memory" | "sqlite" | "dynamodb";
  readonly path: string;
  readonly prefix: string;
  readonly checks: number;
}

/** Microseconds of a check. */
export interface AdmissionCost {
  /** One after the other. */
  readonly single: number;
  /** Of that, on a processor in this process. */
  readonly processor: number;
  /** 32 at a time. */
  readonly many: number;
  /** Over the limit, 32 at a time, bans out of reach. */
  readonly refused: number;
}

const task: AdmissionTask = JSON.parse(process.argv[2] ?? "{}");
const store = openStore();
const key = await openAccount(store, `shop-${process.pid}`, ENTERPRISE);
const freeKey = await openAccount(store, `free-${process.pid}`, { plan: "free" });

let now = Date.now();
// A clock of its own: no window is ever full.
const admitted = admitting(key, () => {
  now += 2;
  return now;
});
const fixed = Date.now();
const refused = admitting(freeKey, () => fixed);
for (let warm = 0; warm < 100; warm++) await Promise.all([admitted(), refused()]);
const before = process.cpuUsage();
const single = await timed(admitted, 1);
const { user, system } = process.cpuUsage(before);
const cost: AdmissionCost = {
  single,
  processor: (user + system) / task.checks,
  many: await timed(admitted, 32),
  refused: await timed(refused, 32),
};
process.send?.(cost);
process.disconnect();
await store.close();

function openStore() {
  if (task.store === "memory") return createMemoryStore();
  if (task.store === "sqlite") return createSqliteStore({ path: task.path });
  return createDynamodbStore({ prefix: task.prefix });
}

function admitting(presented: string, clock: () => number): () => Promise<unknown> {
  const policy = { maxRejections: 1_000_000_000, durationMs: 1 };
  return async () => {
    const parsed = parseKey(presented);
    if (parsed !== undefined) await store.accounts.admit(parsed, clock(), policy);
  };
}

async function timed(check: () => Promise<unknown>, atATime: number): Promise<number> {
  const each = Math.ceil(task.checks / atATime);
  const began = performance.now();
  const caller = async () => {
    for (let done = 0; done < each; done++) await check();
  };
  await Promise.all(Array.from({ length: atATime }, caller));
  return ((performance.now() - began) * 1000) / (each * atATime);
}
