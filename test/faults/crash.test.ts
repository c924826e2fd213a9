import { fork } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { deliverChanges } from "../../lib/orders/delivery.ts";
import { changeIdOf } from "../../lib/orders/history.ts";
import { eachOrder } from "../../lib/orders/order-query.ts";
import { createDynamodbTables } from "../../lib/stores/dynamodb/index.ts";
import type { Store } from "../../lib/stores/store.ts";
import { createCommandLine } from "../support/command-line.ts";
import { clientFor, environmentFor, startEmulator } from "../support/dynamodb/emulator.ts";
import { startProxy } from "../support/dynamodb/proxy.ts";
import { skipsWithoutPostgres, startPostgres } from "../support/postgres/server.ts";
import { openStore, type StoreAddress, storeOptions } from "../support/store-address.ts";
import { idsFrom, openAccount, pendingOrder } from "./crash/fixture.ts";
import type { Acknowledgement, Job } from "./crash/process.ts";
import { deliverTo, fastTime, type ReceivedChange, SECRET, startReceiver } from "./crash/receiver.ts";
import { createRequester, orderAt } from "./requester.ts";
import { createRandom, reportFigures, type SeededRandom } from "./run.ts";

/** Each round kills every process once. */
const ROUNDS = Number(process.env["ROUNDS"] ?? 3);
const ORDERS_PER_PROCESS = 1_000_000;
/** As many as are cancelled in a long life. */
const ORDERS_PER_SERVER = 60;
/** In real time. */
const MAX_LIFE_MS = 1_500;
const MAX_DRAIN_MS = 120_000 + ROUNDS * 3_000;

const cli = createCommandLine();
afterAll(() => cli[Symbol.dispose]());

/** How many changes of an order a caller was told of, by its identifier. */
type Ledger = Map<string, number>;

interface ServedStore {
  readonly address: StoreAddress;
  readonly webhook: string;
  readonly key: string;
  readonly acknowledged: Ledger;
}

/** Cancels orders at `store-orders serve --webhook` until it is killed. */
async function serveUntilKilled(
  { address, webhook, key, acknowledged }: ServedStore,
  ids: readonly bigint[],
  life: () => Promise<unknown>,
): Promise<void> {
  const [options, env] =
    address.kind === "dynamodb"
      ? [["--dynamodb", address.prefix], environmentFor(address.endpoint)]
      : [storeOptions(address), {}];
  writeFileSync(join(cli.directory, "secret"), SECRET);
  const flags = ["--webhook", webhook, "--webhook-secret-file", "secret"];
  const { child, url, stop } = await cli.serve([...flags, ...options], { env });
  const send = createRequester(url, key);
  const cancels = (async () => {
    for (const id of ids) {
      const { status, complete } = await send("DELETE", orderAt(id));
      if (!complete) return;
      if (status === 204) acknowledged.set(`${id}`, 2);
      await sleep(20);
    }
  })();
  await life();
  expect(child.exitCode, "the server runs until it is killed").toBeNull();
  await Promise.all([stop("SIGKILL"), cancels]);
}

async function runUntilKilled(job: Job, random: SeededRandom, acknowledged: Ledger): Promise<void> {
  const child = fork(new URL("crash/process.ts", import.meta.url), [JSON.stringify(job)]);
  const exit = once(child, "exit");
  const ready = Promise.withResolvers<void>();
  child.on("message", (message: Acknowledgement | "ready") => {
    if (message === "ready") ready.resolve();
    else acknowledged.set(message.id, message.changes);
  });
  await Promise.race([ready.promise, exit]);
  await Promise.race([sleep(random.int(0, MAX_LIFE_MS)), exit]);
  expect(child.exitCode, "the process runs until it is killed").toBeNull();
  child.kill("SIGKILL");
  await exit;
}

/** Kills processes that change orders, deliver changes, and serve. Compares what was acknowledged, stored and delivered. */
async function expectNothingLost(
  engine: string,
  address: StoreAddress,
  betweenRounds = async () => {},
): Promise<void> {
  const random = createRandom(`crash ${engine}`);
  const receiver = await startReceiver(random);
  const store = await openStore(address);
  const { outbox = expect.fail() } = store;
  const epoch = Date.now();
  const acknowledged: Ledger = new Map();
  try {
    const key = await openAccount(address, "shop", 60_000);
    const served = { address, webhook: receiver.url, key, acknowledged };
    await outbox.switch(true);
    let processes = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const next = () => processes++ * ORDERS_PER_PROCESS;
      const ids = idsFrom(BigInt(next()), ORDERS_PER_SERVER);
      await store.orders.place(ids.map(pendingOrder));
      const deliverer = { address, receiver: receiver.url, epoch };
      const jobs = [deliverer, { ...deliverer, firstOrder: next() }, { address, epoch, firstOrder: next() }];
      const killed = Promise.all(jobs.map((job) => runUntilKilled(job, random, acknowledged)));
      // The first server lives until it has cancelled and delivered. The others may have leased every change, or tried it
      // on their fast clock, so that none is due for a minute: it gets one of which they know nothing.
      const workOnce = async () => {
        await killed;
        await store.orders.place([pendingOrder(BigInt(next()))]);
        const cancelled = async () => {
          const found = await Promise.all(ids.map((id) => store.orders.find(id)));
          return found.filter((order) => order?.status === "cancelled").length;
        };
        await expect.poll(cancelled, { timeout: 30_000 }).toBeGreaterThan(0);
        await expect.poll(() => receiver.state.signed, { timeout: 30_000 }).toBeGreaterThan(0);
      };
      const life = round === 0 ? workOnce : () => sleep(random.int(0, MAX_LIFE_MS));
      await Promise.all([serveUntilKilled(served, ids, life), killed]);
      await betweenRounds();
    }
    receiver.state.isCalm = true;
    const delivery = deliverChanges({
      store,
      deliver: deliverTo(receiver.url),
      onError: () => {},
      timeoutMs: 20_000,
      ...fastTime(epoch),
    });
    // On a busy machine, a call can fail because an emulator has not answered in time.
    await expect
      .poll(() => outbox.backlog().catch(String), { timeout: MAX_DRAIN_MS, interval: 500 })
      .toEqual({ waiting: 0, failed: 0 });
    await delivery.stop();
    const stored = await changesIn(store);
    const numbers = new Set([...stored.keys()].map((id) => id.split(":", 2).join(":")));
    const lost = [...acknowledged].filter(([id, changes]) => !numbers.has(`${id}:${changes}`));
    expect(lost, "what is acknowledged is stored").toEqual([]);
    expect(acknowledged.size).toBeGreaterThan(0);
    expectIntact(address);
    expectSame(receiver.received, stored);
    expect(stored.size).toBeGreaterThan(10 * ROUNDS);
    expect(receiver.state.signed).toBeGreaterThan(0);
    const cancels = [...stored.values()].filter(({ by }) => by.startsWith("shop")).length;
    expect(cancels).toBeGreaterThan(0);
    reportFigures(`crash (${engine})`, {
      rounds: ROUNDS,
      "processes killed": 4 * ROUNDS,
      "orders with acknowledged changes, all stored": acknowledged.size,
      "changes, all delivered in their order": stored.size,
      "of these cancels of a server that was killed": cancels,
      "deliveries of such a server, signed": receiver.state.signed,
      "deliveries that were repeated": receiver.received.length - stored.size,
    });
  } finally {
    receiver.stop();
    await store.close();
  }
}

function expectIntact(address: StoreAddress): void {
  if (address.kind !== "sqlite") return;
  const db = new DatabaseSync(address.path);
  expect(db.prepare("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
  expect(db.prepare("PRAGMA foreign_key_check").all()).toEqual([]);
  db.close();
}

/** Every change that is stored, by its identifier. */
async function changesIn({ orders }: Store): Promise<ReadonlyMap<string, ReceivedChange>> {
  const changes = new Map<string, ReceivedChange>();
  for await (const page of eachOrder(orders)) {
    for (const { record } of page) {
      const { history } = (await orders.find(record.id)) ?? expect.fail();
      for (const [index, change] of history.entries()) {
        const { event, at, by = "" } = change;
        const id = changeIdOf(record.id, index + 1, change);
        changes.set(id, { id, event, at, by });
      }
    }
  }
  return changes;
}

function expectSame(received: readonly ReceivedChange[], stored: ReadonlyMap<string, ReceivedChange>): void {
  const [known, numbers] = [new Set<string>(), new Set<string>()];
  for (const change of received) {
    expect(change, "what is delivered is stored, each time the same").toEqual(stored.get(change.id));
    const [order, number] = change.id.split(":");
    if (Number(number) > 1 && !numbers.has(`${order}:${Number(number) - 1}`))
      expect.fail(`${change.id} was delivered before the change that precedes it`);
    known.add(change.id);
    numbers.add(`${order}:${number}`);
  }
  expect(
    [...stored.keys()].filter((id) => !known.has(id)),
    "what is stored was delivered",
  ).toEqual([]);
}

test("changes that killed processes acknowledged are stored in SQLite, and all that are stored are delivered, in their order", async () => {
  await expectNothingLost("SQLite", { kind: "sqlite", path: join(cli.directory, "orders.db") });
});

test.skipIf(skipsWithoutPostgres("crashes of processes on PostgreSQL"))(
  "changes that killed processes acknowledged are stored in PostgreSQL, and all that are stored are delivered, in their order, although it crashes",
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

test("changes that killed processes acknowledged are stored in DynamoDB, and all that are stored are delivered, in their order, although responses are lost", async () => {
  const random = createRandom("crash responses");
  const emulator = await startEmulator("all-old");
  const proxy = await startProxy(emulator.endpoint);
  const client = clientFor(emulator.endpoint);
  const prefix = "delivery";
  try {
    await createDynamodbTables({ prefix, client });
    proxy.chooseFault = ({ operation }) =>
      /UpdateItem|PutItem/.test(operation) && random.chance(0.03) ? "lose" : "pass";
    await expectNothingLost("DynamoDB", { kind: "dynamodb", endpoint: proxy.endpoint, prefix });
  } finally {
    client.destroy();
    await proxy.close();
    await emulator.stop();
  }
});
