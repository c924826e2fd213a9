import { beforeAll, test } from "vitest";
import { createPostgresStore } from "../../../lib/stores/postgres/index.ts";
import { expectDecisionsOfMemory } from "../account-histories.ts";
import { type Pglite, startPglite } from "./pglite.ts";

let server: Pglite;
beforeAll(async () => {
  server = await startPglite();
});

test("over any history of an account, the PostgreSQL store decides like the memory store", () =>
  expectDecisionsOfMemory(async (run) => createPostgresStore({ pool: server.pool, schema: `model_${run}` })));
