/** Does to a file that is being served what befalls files, one thing after another. */
import { renameSync, rmSync, statSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { SCHEMA_VERSION } from "../../../lib/stores/sqlite/schema.ts";
import type { Choices } from "../run.ts";
import { limitFiles, noLimitBecause } from "./disk-limit.ts";
import type { ServedShop } from "./fixture.ts";
import { holdLock } from "./lock.ts";

type Fault = (shop: ServedShop, moment: () => Promise<void>) => Promise<void>;

const FAULTS: Readonly<Record<string, Fault>> = {
  async "held by another process"({ path }, moment) {
    const lock = holdLock(path);
    await moment();
    lock.release();
  },

  async "full disk"({ path, process }, moment) {
    limitFiles(process.pid, statSync(`${path}-wal`).size);
    await moment();
    limitFiles(process.pid, "unlimited");
  },

  async "newer schema"({ outside }, moment) {
    outside("PRAGMA user_version = 99");
    await moment();
    outside(`PRAGMA user_version = ${SCHEMA_VERSION}`);
  },

  async "moved away"({ path }, moment) {
    renameSync(path, `${path}.away`);
    await moment();
    renameSync(`${path}.away`, path);
  },

  async "log deleted"({ path }) {
    rmSync(`${path}-wal`);
  },
};

/**
 * Goes on until it is stopped, every deed as often as any other, each followed by a time in which the service recovers.
 * Tells how often each was done.
 */
export async function injectFaults(
  shop: ServedShop,
  chosen: Choices,
  { recovered, stopped }: { recovered: () => Promise<unknown>; stopped: () => boolean },
): Promise<Record<string, number>> {
  const names = Object.keys(FAULTS).filter((name) => name !== "full disk" || noLimitBecause() === undefined);
  const done = Object.fromEntries(names.map((name) => [name, 0]));
  let left: readonly string[] = [];
  while (!stopped()) {
    if (left.length === 0) left = names;
    const name = chosen.pick(left);
    left = left.filter((other) => other !== name);
    await FAULTS[name]?.(shop, () => sleep(chosen.int(1, 150)));
    done[name] = (done[name] ?? 0) + 1;
    await recovered();
    await sleep(chosen.int(1, 150));
  }
  return done;
}
