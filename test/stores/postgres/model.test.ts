import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { createMemoryStore } from "../../../lib/stores/memory.ts";
import { createPostgresStore } from "../../../lib/stores/postgres/index.ts";
import { anyCalls, fillForCalls, resultsInTurn } from "../any-calls.ts";
import { type Pglite, startPglite } from "./pglite.ts";

let server: Pglite;
beforeAll(async () => {
  server = await startPglite();
});

test("over any calls, the PostgreSQL store answers like the memory store", async () => {
  let runs = 0;
  await fc.assert(
    fc.asyncProperty(anyCalls, async (calls) => {
      const [store, memory] = [
        createPostgresStore({ pool: server.pool, schema: `model_${runs++}` }),
        createMemoryStore(),
      ];
      for (const each of [store, memory]) await fillForCalls(each);
      expect(await resultsInTurn(store, calls)).toEqual(await resultsInTurn(memory, calls));
    }),
    { numRuns: 12 },
  );
});
