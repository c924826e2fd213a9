import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { createCommandLine } from "../support/command-line.ts";
import { skipsWithoutPostgres, startPostgres } from "../support/postgres/server.ts";
import type { LocalAddress } from "../support/store-address.ts";
import { createAcknowledgedState } from "./crash/acknowledged-state.ts";
import { checkAfterCrash } from "./crash/check-after-crash.ts";
import { openAccount } from "./crash/fixture.ts";
import { createHttpCaller } from "./crash/http-caller.ts";
import { MISSING_ORDER, runRound } from "./crash/round.ts";
import { startServer } from "./crash/test-process.ts";
import { createRandom, reportFigures } from "./run.ts";

const ROUNDS = { SQLite: 50, PostgreSQL: 20 };

const cli = createCommandLine();
afterAll(() => cli[Symbol.dispose]());

/** Kills processes in every round, and compares the store with what was acknowledged. */
async function expectNothingLost(
  engine: keyof typeof ROUNDS,
  address: LocalAddress,
  betweenRounds = async () => {},
): Promise<void> {
  const rounds = ROUNDS[engine];
  const state = createAcknowledgedState();
  const key = await openAccount(address, "shop", 60_000);
  const context = { cli, address, key, state, random: createRandom(`crash ${engine}`) };
  let killed = 0;
  for (let round = 0; round < rounds; round++) {
    const firstOrder = BigInt(round * 10_000);
    killed += await runRound(`round-${round}`, firstOrder, context);
    await betweenRounds();
    const violations = await checkAfterCrash(address, state, { meteredAccount: "shop", firstOrder });
    expect(violations, `round ${round}`).toEqual([]);
  }
  expect(await checkAfterCrash(address, state, { meteredAccount: "shop", firstOrder: 0n })).toEqual([]);

  const server = await startServer(cli, address);
  using caller = createHttpCaller(server.url);
  for (const key of state.keys) expect((await caller.cancel(MISSING_ORDER, key))?.status).toBe(404);
  for (const banned of state.bans.keys()) {
    expect((await caller.cancel(MISSING_ORDER, banned))?.code).toBe("api_key_banned");
  }
  server.kill();
  await server.ended;

  const { cancelled, shipped, imported } = state.counts;
  for (const count of [cancelled, shipped, imported, state.keys.size, state.bans.size]) {
    expect(count).toBeGreaterThan(0);
  }
  reportFigures(`crash (${engine})`, {
    rounds,
    "processes killed": killed,
    "acknowledged cancels, all stored": cancelled,
    "acknowledged shipments, all stored": shipped,
    "acknowledged imported lines, all stored": imported,
    "keys shown, all active": state.keys.size,
    "bans reported, all in force": state.bans.size,
  });
}

test("after kill -9, every acknowledged cancel, shipment, import and key is stored in SQLite, and every other one is stored completely or not at all", async () => {
  await expectNothingLost("SQLite", { kind: "sqlite", path: join(cli.directory, "crash.db") });
});

test.skipIf(skipsWithoutPostgres("crashes of processes on PostgreSQL"))(
  "after kill -9 of processes, and crashes of the server, everything acknowledged is stored in PostgreSQL, and every other change completely or not at all",
  async () => {
    const server = await startPostgres();
    try {
      await expectNothingLost(
        "PostgreSQL",
        { kind: "postgres", connectionString: server.url() },
        async () => {
          await server.crash();
          await server.start();
        },
      );
    } finally {
      await server.remove();
    }
  },
);
