import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { isActive } from "../../lib/accounts/account.ts";
import { hashKey } from "../../lib/accounts/hash-key.ts";
import { type StoredOrder, transition } from "../../lib/orders/lifecycle.ts";
import { eachOrder } from "../../lib/orders/order-query.ts";
import { toLine } from "../../lib/orders/wire.ts";
import { DAY_MS } from "../../lib/plans/windows.ts";
import { createCommandLine } from "../support/command-line.ts";
import { parseKey } from "../support/parse-key.ts";
import { skipsWithoutPostgres, startPostgres } from "../support/postgres/server.ts";
import { type LocalAddress, openStore, storeOptions } from "../support/store-address.ts";
import { idsFrom, instantOf, openAccount, pendingOrder } from "./crash/fixture.ts";
import type { Acknowledgement, Job } from "./crash/worker-process.ts";
import { createRequester, orderAt, type SendRequest } from "./requester.ts";
import { createRandom, reportFigures, type SeededRandom } from "./run.ts";

const ROUNDS = { SQLite: 12, PostgreSQL: 6 };
const [CANCELS, SHIPMENTS, LINES, CALLERS] = [1_100, 400, 3_000, 16];
/** Fewer than the cancels alone, so that every kill is reached. */
const MAX_ACKNOWLEDGEMENTS = 1_000;
/** No order has this identifier: a request that is admitted and changes nothing. */
const MISSING_ORDER = orderAt(-1);

const cli = createCommandLine();
afterAll(() => cli[Symbol.dispose]());

/** An order in each of its states, as lines of an export; `""` before it is imported. The database has one that is not before the acknowledged one. */
interface Expected {
  readonly states: readonly string[];
  acknowledged: number;
}

/** Everything that was submitted, and what of it was acknowledged to a caller. */
function createLedger() {
  return {
    orders: new Map<bigint, Expected>(),
    accounts: new Set<string>(),
    /** Keys that were shown. */
    keys: new Set<string>(),
    /** Keys that were reported as banned, and until which second. */
    bans: new Map<string, number>(),
    counts: { sent: 0, admitted: 0, cancelled: 0, shipped: 0, imported: 0, killed: 0 },
  };
}
type Ledger = ReturnType<typeof createLedger>;

function acknowledge({ orders }: Ledger, id: bigint, state: number): void {
  const expected = orders.get(id) ?? expect.fail();
  expected.acknowledged = Math.max(expected.acknowledged, state);
}

/** An order to import, shipped, cancelled or pending. */
function importedOrder(id: bigint): StoredOrder {
  const record = { id, petId: -id, quantity: Number(id % 10n) };
  if (id % 3n !== 0n) return { record, status: id % 3n === 1n ? "cancelled" : "pending" };
  return { record: { ...record, shipDate: new Date(instantOf(id)).toISOString() }, status: "shipped" };
}

/** The order, and what it becomes by each event. */
function statesOf(order: StoredOrder, ...events: readonly ("cancel" | "ship" | "fulfil")[]): string[] {
  const states = [order];
  for (const event of events) {
    const result = transition(states.at(-1) ?? order, event, instantOf(order.record.id));
    if (result.ok) states.push(result.order);
  }
  return states.map(toLine);
}

/** Starts a worker, and waits until it has opened the database. */
async function startWorker(address: LocalAddress): Promise<ChildProcess> {
  const program = new URL("crash/worker-process.ts", import.meta.url);
  const child = fork(program, [JSON.stringify(address)], { serialization: "advanced" });
  expect((await Promise.race([once(child, "message"), once(child, "exit")]))[0]).toBe("ready");
  return child;
}

/** Runs a server and three workers on one database, and kills each after a number of acknowledgements. */
async function runRound(
  round: number,
  address: LocalAddress,
  { ledger, key, random }: { ledger: Ledger; key: string; random: SeededRandom },
): Promise<void> {
  const first = BigInt(round * 10_000);
  const cancels = idsFrom(first, CANCELS);
  const shipments = idsFrom(first + 2_000n, SHIPMENTS);
  const lines = idsFrom(first + 4_000n, LINES);
  const store = await openStore(address);
  await store.orders.place([...cancels, ...shipments].map(pendingOrder));
  await store.close();
  const submit = (ids: readonly bigint[], states: (id: bigint) => readonly string[]) => {
    for (const id of ids) ledger.orders.set(id, { states: states(id), acknowledged: 0 });
  };
  submit(cancels, (id) => statesOf(pendingOrder(id), "cancel"));
  submit(shipments, (id) => statesOf(pendingOrder(id), "ship", "fulfil"));
  submit(lines, (id) => ["", toLine(importedOrder(id))]);

  const banned = await openAccount(address, `banned-${round}`, 1);
  const [server, ...workers] = await Promise.all([
    cli.serve(storeOptions(address)),
    ...[1, 2, 3].map(() => startWorker(address)),
  ]);
  const children = [server.child, ...workers];
  // All messages arrive before the channel closes.
  const ended = children.map((child, index) =>
    Promise.all([once(child, "exit"), index > 0 && once(child, "disconnect")]),
  );
  const kills = children.map((child) => ({ child, after: random.int(1, MAX_ACKNOWLEDGEMENTS) }));
  let acknowledgements = 0;
  const count = () => {
    acknowledgements++;
    for (const { child, after } of kills)
      if (after === acknowledgements) setTimeout(() => child.kill("SIGKILL"), random.int(0, 5));
  };
  let imported = 0;
  const record = (acknowledgement: Acknowledgement) => {
    count();
    if ("id" in acknowledgement) {
      acknowledge(ledger, acknowledgement.id, acknowledgement.changes);
      ledger.counts.shipped++;
    } else if ("upToLine" in acknowledgement) {
      for (const id of lines.slice(imported, acknowledgement.upToLine)) acknowledge(ledger, id, 1);
      ledger.counts.imported += acknowledgement.upToLine - imported;
      imported = acknowledgement.upToLine;
    } else {
      ledger.accounts.add(acknowledgement.account);
      if (acknowledgement.key !== undefined) ledger.keys.add(acknowledgement.key);
    }
  };
  const accounts = Array.from({ length: 10 }, (_, index) => `account-${round}-${index}`);
  const jobs: readonly Job[] = [
    { ship: shipments },
    { lines: lines.map((id) => `${toLine(importedOrder(id))}\n`).join("") },
    { accounts, keysEach: 5 },
  ];
  const flooded = floodUntilBanned(createRequester(server.url, banned), banned, ledger);
  // Few servers live until they ban the key: the first one, because nothing is acknowledged before.
  if (round === 0) await flooded;
  for (const [index, job] of jobs.entries()) workers[index]?.on("message", record).send(job);
  const remaining = cancels.values();
  await Promise.all([
    ...Array.from({ length: CALLERS }, () =>
      cancelOrders(createRequester(server.url, key), remaining, { ledger, count }),
    ),
    flooded,
  ]);
  for (const { child } of kills) setTimeout(() => child.kill("SIGKILL"), random.int(0, 50));
  await Promise.all(ended);
  for (const { exitCode, signalCode } of children) {
    if (signalCode === "SIGKILL") ledger.counts.killed++;
    else expect(exitCode, "a process that was not killed has finished").toBe(0);
  }
}

async function cancelOrders(
  send: SendRequest,
  ids: Iterable<bigint>,
  { ledger, count }: { ledger: Ledger; count: () => void },
): Promise<void> {
  for (const id of ids) {
    ledger.counts.sent++;
    const { status, complete } = await send("DELETE", orderAt(id));
    if (!complete) return;
    // The outcome is unknown.
    if (status === 503) continue;
    expect(status).toBe(204);
    ledger.counts.admitted++;
    ledger.counts.cancelled++;
    acknowledge(ledger, id, 1);
    count();
  }
}

async function floodUntilBanned(send: SendRequest, key: string, { bans }: Ledger): Promise<void> {
  for (;;) {
    const { complete, text, headers } = await send("DELETE", MISSING_ORDER);
    if (!complete) return;
    if (!text.includes("api_key_banned")) continue;
    bans.set(key, Number(headers.get("x-ratelimit-reset")));
    return;
  }
}

/** Compares a database after a crash with what was acknowledged. */
async function expectNothingLost(address: LocalAddress, ledger: Ledger, startedAt: number): Promise<void> {
  if (address.kind === "sqlite") {
    const db = new DatabaseSync(address.path);
    expect(db.prepare("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
    expect(db.prepare("PRAGMA foreign_key_check").all()).toEqual([]);
    db.close();
  }
  const store = await openStore(address);
  const found = new Map<bigint, string>();
  for await (const page of eachOrder(store.orders))
    for (const order of page) found.set(order.record.id, toLine(order));
  const wrong = [...ledger.orders].filter(
    ([id, { states, acknowledged }]) => !states.slice(acknowledged).includes(found.get(id) ?? ""),
  );
  expect(wrong.map(([id, expected]) => ({ found: found.get(id), ...expected }))).toEqual([]);
  expect(found.size).toBeLessThanOrEqual(ledger.orders.size);

  const active = new Set<string>();
  for (const id of ledger.accounts) {
    const account = (await store.accounts.find(id)) ?? expect.fail(`${id} is lost`);
    for (const key of account.keys) if (isActive(key, Date.now())) active.add(key.hash);
  }
  expect([...ledger.keys].filter((key) => !active.has(hashKey(key)))).toEqual([]);
  for (const [key, until] of ledger.bans) {
    const { accountId = "" } = parseKey(key) ?? {};
    const [ban] = Object.values((await store.accounts.find(accountId))?.rejections ?? {});
    expect(Math.ceil((ban?.bannedUntil ?? 0) / 1_000)).toBeGreaterThanOrEqual(until);
  }
  const { day } = (await store.accounts.find("shop"))?.usage ?? expect.fail();
  if (day.start === startedAt - (startedAt % DAY_MS)) {
    expect(day.count).toBeGreaterThanOrEqual(ledger.counts.admitted);
    expect(day.count).toBeLessThanOrEqual(ledger.counts.sent);
  }
  await store.close();
}

/** Kills processes in every round, and compares the store with what was acknowledged. */
async function crashRepeatedly(
  engine: keyof typeof ROUNDS,
  address: LocalAddress,
  betweenRounds = async () => {},
): Promise<void> {
  const [ledger, startedAt] = [createLedger(), Date.now()];
  const key = await openAccount(address, "shop", 60_000);
  const context = { ledger, key, random: createRandom(`crash ${engine}`) };
  for (let round = 0; round < ROUNDS[engine]; round++) {
    await runRound(round, address, context);
    await betweenRounds();
    await expectNothingLost(address, ledger, startedAt);
  }
  const { counts, accounts, keys, bans } = ledger;
  for (const count of [...Object.values(counts), accounts.size, keys.size, bans.size])
    expect(count).toBeGreaterThan(0);

  const { child, url } = await cli.serve(storeOptions(address));
  // A server that has just started looks up few unknown keys of an address in a second.
  const send = async (key: string) => {
    for (;;) {
      const response = await createRequester(url, key)("DELETE", MISSING_ORDER);
      if (!response.text.includes("rate_limit_exceeded")) return response;
      await sleep(1_000);
    }
  };
  for (const key of keys) expect((await send(key)).status).toBe(404);
  for (const key of bans.keys()) expect((await send(key)).text).toContain("api_key_banned");
  child.kill("SIGKILL");
  reportFigures(`crash (${engine})`, {
    rounds: ROUNDS[engine],
    "processes killed": counts.killed,
    "acknowledged cancels, all stored": counts.cancelled,
    "acknowledged shipments, all stored": counts.shipped,
    "acknowledged imported lines, all stored": counts.imported,
    "keys shown, all active": keys.size,
    "bans reported, all in force": bans.size,
  });
}

// They mostly wait for the disk.
test.concurrent("after kill -9, every acknowledged cancel, shipment, import and key is stored in SQLite, and every other one is stored completely or not at all", async () => {
  await crashRepeatedly("SQLite", { kind: "sqlite", path: join(cli.directory, "crash.db") });
});

test.skipIf(skipsWithoutPostgres("crashes of processes on PostgreSQL"))(
  "after kill -9 of processes, and crashes of the server, everything acknowledged is stored in PostgreSQL, and every other change completely or not at all",
  { concurrent: true },
  async () => {
    const server = await startPostgres();
    try {
      const address = { kind: "postgres", connectionString: server.url() } as const;
      await crashRepeatedly("PostgreSQL", address, async () => {
        await server.crash();
        await server.start();
      });
    } finally {
      await server.remove();
    }
  },
);
