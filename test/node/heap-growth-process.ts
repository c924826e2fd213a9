/**
 * Allocates as a loaded server does: `heap-growth-process.ts [limited | server | free-server] [untested | bun]`. Prints the largest size of the young
 * generation under load, its size after idleness, and its largest size under another load, in MiB.
 */
import { Session } from "node:inspector";
import { setImmediate as turn } from "node:timers/promises";
import { limitHeapGrowth } from "../../lib/node/limit-heap-growth.ts";
import { startNodeServer } from "../../lib/node/server.ts";
import { load, youngMiB } from "./heap-load.ts";

const setVersions = (versions: object) =>
  Object.defineProperty(process, "versions", { value: { ...process.versions, ...versions } });
if (process.argv.includes("untested")) setVersions({ v8: "99.0" });
if (process.argv.includes("bun")) setVersions({ bun: "1.3.0" });
if (process.argv.includes("limited")) {
  limitHeapGrowth(process);
  limitHeapGrowth(process);
}
const server = /^(free-)?server$/.exec(process.argv[2] ?? "");
if (server !== null) {
  const handler = async () => new Response();
  const { close } = await startNodeServer({ handler, port: 0, limitHeapGrowth: server[1] === undefined });
  await close();
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
