import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Store } from "../../../lib/stores/store.ts";
import { anyCalls, DAMAGED, fillForCalls, resultsInTurn, settle } from "../any-calls.ts";
import { temporaryDirectory } from "./fixture.ts";

const { open } = temporaryDirectory();

/** The results of calls, and every row that they leave. */
async function rowsAfter(perform: (store: Store) => Promise<readonly unknown[]>) {
  const { path, store } = open();
  await fillForCalls(store);
  const db = new DatabaseSync(path);
  db.prepare("UPDATE orders SET record = '{' WHERE id = ?").run(DAMAGED);
  const results = await perform(store);
  // The identifiers of changes are random.
  const orders = "(SELECT id, status, record, length(history) FROM orders)";
  const tables = ["accounts", "api_keys", orders, "outbox"];
  const rows = tables.map((table) => db.prepare(`SELECT * FROM ${table}`).all());
  db.close();
  await store.close();
  return { results, rows };
}

test("calls that share a transaction have the results of calls one after another, and leave the same rows", async () => {
  await fc.assert(
    fc.asyncProperty(anyCalls, async (calls) => {
      const together = await rowsAfter((store) => Promise.all(calls.map((call) => settle(call, store))));
      expect(together).toEqual(await rowsAfter((store) => resultsInTurn(store, calls)));
    }),
    { numRuns: 30 },
  );
}, 60_000);
