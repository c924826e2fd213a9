import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createDynamodbTables } from "../../lib/stores/dynamodb/index.ts";
import { createSqliteStore } from "../../lib/stores/sqlite/index.ts";
import { clientFor, startEmulator } from "../support/dynamodb/emulator.ts";
import { skipsWithoutPostgres, startPostgres } from "../support/postgres/server.ts";
import { openStore, type StoreAddress } from "../support/store-address.ts";
import { BROKEN } from "./linearizability/broken-stores.ts";
import { startProcesses } from "./linearizability/processes.ts";
import { runAndCheck } from "./linearizability/run-and-check.ts";
import { chooseScenario, PROCESSES } from "./linearizability/scenarios.ts";
import { createRandom, reportFigures } from "./run.ts";

/** More than those within which every broken store is detected, where no emulator makes them slow. */
const HISTORIES = {
  sqlite: 80,
  postgres: 80,
  "all-old": 60,
  "as-is": 30,
};
/** A broken store must be detected within this many histories. */
const MAX_HISTORIES_UNTIL_CAUGHT = 60;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "store-orders-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Records histories of several processes on a store, and expects each to be linearizable. */
async function expectLinearizable(
  name: string,
  address: StoreAddress,
  { histories, losses = 0 }: { histories: number; losses?: number },
): Promise<void> {
  const random = createRandom(`linearizability ${name}`);
  const store = await openStore(address);
  const processes = startProcesses(PROCESSES, address);
  const figures = { operations: 0, incomplete: 0 };
  try {
    for (let number = 0; number < histories; number++) {
      const result = await runAndCheck(chooseScenario(number, random, { losses }), store, processes);
      expect(result.violations.join("\n\n"), `history ${number}`).toBe("");
      figures.operations += result.operations;
      figures.incomplete += result.incomplete;
    }
  } finally {
    await processes.stop();
    await store.close();
  }
  reportFigures(`linearizability (${name})`, {
    "histories, each linearizable": histories,
    "operations in them": figures.operations,
    "of these incomplete": figures.incomplete,
  });
}

// They mostly wait for processes.
test.concurrent("concurrent operations of several processes on SQLite are linearizable", async () => {
  const address: StoreAddress = { kind: "sqlite", path: join(folder, "correct.db") };
  await expectLinearizable("SQLite", address, { histories: HISTORIES.sqlite });
});

describe.concurrent("concurrent operations of several processes on DynamoDB are linearizable", () => {
  test.for(["all-old", "as-is"] as const)(
    "the history of operations on the emulator '%s' is linearizable",
    async (oldItems) => {
      const emulator = await startEmulator(oldItems);
      const client = clientFor(emulator.endpoint);
      try {
        await createDynamodbTables({ prefix: "shop", client });
        const address: StoreAddress = { kind: "dynamodb", endpoint: emulator.endpoint, prefix: "shop" };
        await expectLinearizable(`DynamoDB, ${oldItems}`, address, {
          histories: HISTORIES[oldItems],
          losses: 0.1,
        });
      } finally {
        client.destroy();
        await emulator.stop();
      }
    },
  );
});

test.skipIf(skipsWithoutPostgres("linearizability on PostgreSQL"))(
  "concurrent operations of several processes on PostgreSQL are linearizable, also if messages are lost",
  { concurrent: true },
  async () => {
    const server = await startPostgres();
    try {
      const address: StoreAddress = { kind: "postgres", connectionString: server.url() };
      await expectLinearizable("PostgreSQL", address, { histories: HISTORIES.postgres, losses: 0.1 });
    } finally {
      await server.remove();
    }
  },
);

describe("the checker detects a broken store that", () => {
  test.for(Object.keys(BROKEN))("%s", async (name) => {
    const path = join(folder, `${name}.db`);
    const store = createSqliteStore({ path });
    const random = createRandom(`broken: ${name}`);
    const processes = startProcesses(PROCESSES, { kind: "sqlite", path }, name);
    try {
      let caughtBy = 0;
      for (let number = 0; caughtBy === 0 && number < MAX_HISTORIES_UNTIL_CAUGHT; number++) {
        const { violations } = await runAndCheck(
          chooseScenario(number, random, { losses: 0 }),
          store,
          processes,
        );
        if (violations.length > 0) caughtBy = number + 1;
      }
      expect(caughtBy).toBeGreaterThan(0);
      reportFigures("linearizability (broken stores)", { [`${name}: detected in history`]: caughtBy });
    } finally {
      await processes.stop();
      await store.close();
    }
  });
});
