/**
 * Allocates as a loaded server does: `heap-growth-process.ts [limited] [untested]`. Prints the largest size of the young
 * generation under load, its size after idleness, and its largest size under another load, in MiB.
 */
import { Session } from "node:inspector";
import { setImmediate as turn } from "node:timers/promises";
import { getHeapSpaceStatistics } from "node:v8";
import { limitHeapGrowth } from "../../lib/node/limit-heap-growth.ts";

if (process.argv.includes("untested"))
  Object.defineProperty(process, "versions", { value: { ...process.versions, v8: "99.0" } });
if (process.argv.includes("limited")) {
  limitHeapGrowth(process);
  limitHeapGrowth(process);
}

const youngMiB = () =>
  (getHeapSpaceStatistics().find((space) => space.space_name === "new_space")?.space_size ?? 0) / 2 ** 20;

/** Most objects of a turn survive until the next one, so V8 wants the young generation to grow. */
async function load(): Promise<number> {
  let largest = 0;
  const live: object[] = [];
  for (let round = 0; round < 60; round++) {
    for (let index = 0; index < 20_000; index++) live[index] = { index, text: `order ${index}` };
    largest = Math.max(largest, youngMiB());
    await turn();
  }
  return largest;
}

const loaded = await load();
const session = new Session();
session.connect();
// As V8 does when the process is idle.
session.post("HeapProfiler.collectGarbage");
await turn();
const idle = youngMiB();
const again = await load();
process.stdout.write(JSON.stringify({ loaded, idle, again }));
