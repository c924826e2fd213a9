/**
 * One of several processes whose calls form a history: `worker-process.ts ADDRESS [MISTAKE]`, the address as JSON. It
 * receives lanes of calls and reports that it is ready. After the message `go` it performs them: one after another in each
 * lane, all lanes concurrently.
 */
import { once } from "node:events";
import { promisify } from "node:util";
import { StoreUnavailableError } from "../../../lib/core/errors.ts";
import type { StoreAddress } from "../../support/store-address.ts";
import { BROKEN } from "./broken-stores.ts";
import { type Call, type CallResult, performCall } from "./calls.ts";
import { type Loss, openLossyStore, withLoss } from "./lossy-store.ts";

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

const [address = "", mistake = ""] = process.argv.slice(2);
const correctStore = await openLossyStore(JSON.parse(address) as StoreAddress);
const store = BROKEN[mistake]?.(correctStore, JSON.parse(address).path) ?? correctStore;
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
