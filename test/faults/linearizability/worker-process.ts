/**
 * One of several processes whose calls form a history: `worker-process.ts sqlite PATH`, `… dynamodb ENDPOINT PREFIX`
 * or `… broken PATH NAME`. It receives lanes of calls and reports that it is ready. After the message `go` it performs them: one after another in each lane, all
 * lanes concurrently.
 */
import { once } from "node:events";
import { promisify } from "node:util";
import { StoreUnavailableError } from "../../../lib/core/errors.ts";
import { createSqliteStore } from "../../../lib/stores/sqlite/index.ts";
import type { Store } from "../../../lib/stores/store.ts";
import { BROKEN } from "./broken-stores.ts";
import { type Call, type CallResult, performCall } from "./calls.ts";
import { createLossyStore, type Loss, withLoss } from "./lossy-store.ts";

/** A call, and which of its messages is lost. */
export interface Planned {
  readonly call: Call;
  readonly loss?: Loss;
}

/** A report of a process: before a call begins, and its result if there is one. */
export type Report = "ready" | "done" | Event;

/** The start or the end of a call. */
export interface Event {
  readonly lane: number;
  readonly index: number;
  readonly at: bigint;
  readonly end?: { readonly result: CallResult };
}

const store = open(process.argv.slice(2));
const report = promisify((message: Report, sent: (error: Error | null) => void) =>
  process.send?.(message, sent),
);
await store.orders.find(-1n);

process.on("message", async (message: readonly (readonly Planned[])[] | "go") => {
  if (message === "go") return;
  await report("ready");
  await once(process, "message");
  await Promise.all(message.map(performLane));
  await report("done");
});

async function performLane(calls: readonly Planned[], lane: number): Promise<void> {
  for (const [index, { call, loss }] of calls.entries()) {
    // Reported before the call begins, so that every effect belongs to a known call.
    await report({ lane, index, at: process.hrtime.bigint() });
    try {
      const result = await withLoss(loss, () => performCall(store, call));
      await report({ lane, index, at: process.hrtime.bigint(), end: { result } });
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
    }
  }
}

function open([kind, location = "", name = ""]: readonly string[]): Store {
  if (kind === "dynamodb") return createLossyStore(location, name);
  const breakStore = kind === "broken" ? BROKEN[name] : undefined;
  const sqlite = createSqliteStore({ path: location });
  return breakStore === undefined ? sqlite : breakStore(sqlite, location);
}
