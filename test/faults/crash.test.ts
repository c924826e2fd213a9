import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { createCommandLine } from "../support/command-line.ts";
import { createAcknowledgedState } from "./crash/acknowledged-state.ts";
import { checkAfterCrash } from "./crash/check-after-crash.ts";
import { openAccount } from "./crash/fixture.ts";
import { createHttpCaller } from "./crash/http-caller.ts";
import { MISSING_ORDER, runRound } from "./crash/round.ts";
import { startServer } from "./crash/test-process.ts";
import { createRandom, reportFigures } from "./run.ts";

const ROUNDS = 50;

const cli = createCommandLine();
afterAll(() => cli[Symbol.dispose]());

test("after kill -9, every acknowledged cancel, shipment, import and key is stored, and every other one is stored completely or not at all", async () => {
  const path = join(cli.directory, "crash.db");
  const state = createAcknowledgedState();
  const key = await openAccount(path, "shop", 60_000);
  const context = { cli, path, key, state, random: createRandom("crash") };
  let killed = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const firstOrder = BigInt(round * 10_000);
    killed += await runRound(`round-${round}`, firstOrder, context);
    const violations = await checkAfterCrash(path, state, { meteredAccount: "shop", firstOrder });
    expect(violations, `round ${round}`).toEqual([]);
  }
  expect(await checkAfterCrash(path, state, { meteredAccount: "shop", firstOrder: 0n })).toEqual([]);

  const server = await startServer(cli, path);
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
  reportFigures("crash (SQLite)", {
    rounds: ROUNDS,
    "processes killed": killed,
    "acknowledged cancels, all stored": cancelled,
    "acknowledged shipments, all stored": shipped,
    "acknowledged imported lines, all stored": imported,
    "keys shown, all active": state.keys.size,
    "bans reported, all in force": state.bans.size,
  });
});
