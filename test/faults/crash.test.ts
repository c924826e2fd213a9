import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { createCommandLine } from "../support/command-line.ts";
import { openEvidence } from "./crash/acknowledged-state.ts";
import { checkAfterCrash } from "./crash/check-after-crash.ts";
import { httpCaller } from "./crash/http-caller.ts";
import { NOBODY, runRound } from "./crash/round.ts";
import { openAccount } from "./crash/scenario.ts";
import { startServer } from "./crash/test-process.ts";
import { choices, tell } from "./run.ts";

const ROUNDS = 50;

const cli = createCommandLine();
afterAll(() => cli[Symbol.dispose]());

test("after kill -9, every acknowledged cancel, shipment, import and key is stored, and every other one is stored completely or not at all", async () => {
  const path = join(cli.directory, "crash.db");
  const evidence = openEvidence();
  const key = await openAccount(path, "shop", 60_000);
  const scene = { cli, path, key, evidence, random: choices("crash") };
  let killed = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const firstOrder = BigInt(round * 10_000);
    killed += await runRound(`round-${round}`, firstOrder, scene);
    const objections = await checkAfterCrash(path, evidence, { meteredAccount: "shop", firstOrder });
    expect(objections, `round ${round}`).toEqual([]);
  }
  expect(await checkAfterCrash(path, evidence, { meteredAccount: "shop", firstOrder: 0n })).toEqual([]);

  const server = await startServer(cli, path);
  using caller = httpCaller(server.url);
  for (const shown of evidence.keys) expect((await caller.cancel(NOBODY, shown))?.status).toBe(404);
  for (const banned of evidence.bans.keys()) {
    expect((await caller.cancel(NOBODY, banned))?.code).toBe("api_key_banned");
  }
  server.kill();
  await server.over;

  const { cancelled, shipped, imported } = evidence.counts;
  for (const acknowledged of [cancelled, shipped, imported, evidence.keys.size, evidence.bans.size]) {
    expect(acknowledged).toBeGreaterThan(0);
  }
  tell("crash (SQLite)", {
    rounds: ROUNDS,
    "processes killed": killed,
    "cancels acknowledged, all there": cancelled,
    "shipments acknowledged, all there": shipped,
    "imported lines acknowledged, all there": imported,
    "keys shown, all living": evidence.keys.size,
    "bans told, all in force": evidence.bans.size,
  });
});
