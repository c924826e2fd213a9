/**
 * One of several processes whose calls make a history: `worker-process.ts sqlite PATH`, `… dynamodb ENDPOINT PREFIX`
 * or `… broken PATH NAME`. It is sent lanes of calls, says that it is ready, and at the word `go` makes them, one after
 * another in each lane, all lanes at once.
 */
import { once } from "node:events";
import { promisify } from "node:util";
import { StoreUnavailableError } from "../../../lib/errors.ts";
import { createSqliteStore } from "../../../lib/stores/sqlite/index.ts";
import type { Store } from "../../../lib/stores/store.ts";
import { BROKEN } from "./broken-stores.ts";
import { type Call, make, type Reply } from "./calls.ts";
import { createLossyStore, type Loss, losing } from "./lossy-store.ts";

/** A call, and what of it is lost on the way, if anything. */
export interface Planned {
  readonly call: Call;
  readonly loss?: Loss;
}

/** What a process tells: that a call begins, before it does, and what it was answered, if it was. */
export type Report = "ready" | "done" | Event;

/** The beginning or the end of a call. */
export interface Event {
  readonly lane: number;
  readonly index: number;
  readonly at: bigint;
  readonly end?: { readonly answer: Reply };
}

const store = open(process.argv.slice(2));
const report = promisify((told: Report, sent: (error: Error | null) => void) => process.send?.(told, sent));
await store.orders.find(-1n);

process.on("message", async (message: readonly (readonly Planned[])[] | "go") => {
  if (message === "go") return;
  await report("ready");
  await once(process, "message");
  await Promise.all(message.map(perform));
  await report("done");
});

async function perform(calls: readonly Planned[], lane: number): Promise<void> {
  for (const [index, { call, loss }] of calls.entries()) {
    // Told before the call is made, so that nothing takes effect that nobody knows of.
    await report({ lane, index, at: process.hrtime.bigint() });
    try {
      const answer = await losing(loss, () => make(store, call));
      await report({ lane, index, at: process.hrtime.bigint(), end: { answer } });
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
    }
  }
}

function open([kind, where = "", name = ""]: readonly string[]): Store {
  if (kind === "dynamodb") return createLossyStore(where, name);
  const breaks = kind === "broken" ? BROKEN[name] : undefined;
  const sqlite = createSqliteStore({ path: where });
  return breaks === undefined ? sqlite : breaks(sqlite, where);
}
