/** Injects one fault after another into a database file that is being served. */
import { renameSync, rmSync, statSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { SCHEMA_VERSION } from "../../../lib/stores/sqlite/schema.ts";
import type { SeededRandom } from "../run.ts";
import { limitFiles, reasonToSkip } from "./disk-limit.ts";
import type { ServedDatabase } from "./fixture.ts";
import { holdLock } from "./lock.ts";

type Fault = (service: ServedDatabase, pause: () => Promise<void>) => Promise<void>;

const FAULTS: Readonly<Record<string, Fault>> = {
  async "held by another process"({ path }, pause) {
    const lock = holdLock(path);
    await pause();
    lock.release();
  },

  async "full disk"({ path, process }, pause) {
    limitFiles(process.pid, statSync(`${path}-wal`).size);
    await pause();
    limitFiles(process.pid, "unlimited");
  },

  async "newer schema"({ executeOutside: outside }, pause) {
    outside("PRAGMA user_version = 99");
    await pause();
    outside(`PRAGMA user_version = ${SCHEMA_VERSION}`);
  },

  async "moved away"({ path }, pause) {
    renameSync(path, `${path}.away`);
    await pause();
    renameSync(`${path}.away`, path);
  },

  async "log deleted"({ path }) {
    rmSync(`${path}-wal`);
  },
};

/**
 * Injects faults until it is stopped, each equally often. The service recovers after each. Returns the number of
 * injections of each fault.
 */
export async function injectFaults(
  service: ServedDatabase,
  random: SeededRandom,
  { recovered, stopped }: { recovered: () => Promise<unknown>; stopped: () => boolean },
): Promise<Record<string, number>> {
  const names = Object.keys(FAULTS).filter((name) => name !== "full disk" || reasonToSkip() === undefined);
  const counts = Object.fromEntries(names.map((name) => [name, 0]));
  let remaining: readonly string[] = [];
  while (!stopped()) {
    if (remaining.length === 0) remaining = names;
    const name = random.pick(remaining);
    remaining = remaining.filter((other) => other !== name);
    await FAULTS[name]?.(service, () => sleep(random.int(1, 150)));
    counts[name] = (counts[name] ?? 0) + 1;
    await recovered();
    await sleep(random.int(1, 150));
  }
  return counts;
}
