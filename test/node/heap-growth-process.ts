/**
 * Allocates as a loaded server does: `heap-growth-process.ts [limited] [untested]`. Prints the largest size of the young
 * generation under load, its size after idleness, and its largest size under another load, in MiB.
 */
import { Session } from "node:inspector";
import { setImmediate as turn } from "node:timers/promises";
import { limitHeapGrowth } from "../../lib/node/limit-heap-growth.ts";
import { load, youngMiB } from "./heap-load.ts";

if (process.argv.includes("untested"))
  Object.defineProperty(process, "versions", { value: { ...process.versions, v8: "99.0" } });
if (process.argv.includes("limited")) {
  limitHeapGrowth(process);
  limitHeapGrowth(process);
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
