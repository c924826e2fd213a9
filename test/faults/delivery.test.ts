import { fork } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
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
import type { Job } from "./delivery/process.ts";
import { deliverTo, fastTime, type ReceivedChange, SECRET, startReceiver } from "./delivery/receiver.ts";
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

/** What a server runs on. */
interface ServedStore {
  readonly address: StoreAddress;
  readonly webhook: string;
  readonly key: string;
}

/** Cancels orders at `store-orders serve --webhook` until it is killed. */
async function serveUntilKilled(
  { address, webhook, key }: ServedStore,
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
      if (!(await send("DELETE", orderAt(id))).complete) return;
      await sleep(20);
    }
  })();
  await life();
  expect(child.exitCode, "the server runs until it is killed").toBeNull();
  await Promise.all([stop("SIGKILL"), cancels]);
}

/** Runs a process until it is killed, at a random time. */
async function runUntilKilled(job: Job, random: SeededRandom): Promise<void> {
  const child = fork(new URL("delivery/process.ts", import.meta.url), [JSON.stringify(job)]);
  const exit = once(child, "exit");
  const [first] = await Promise.race([once(child, "message"), exit]);
  expect(first, "the process starts").toBe("ready");
  await Promise.race([sleep(random.int(0, MAX_LIFE_MS)), exit]);
  expect(child.exitCode, "the process runs until it is killed").toBeNull();
  child.kill("SIGKILL");
  await exit;
}

/** Kills processes that change orders, deliver changes, and serve, and compares what was delivered with what is stored. */
async function expectAllDelivered(
  engine: string,
  address: StoreAddress,
  betweenRounds = async () => {},
): Promise<void> {
  const random = createRandom(`delivery ${engine}`);
  const receiver = await startReceiver(random);
  const store = await openStore(address);
  const { outbox = expect.fail() } = store;
  const epoch = Date.now();
  try {
    const served = { address, webhook: receiver.url, key: await openAccount(address, "shop", 60_000) };
    await outbox.switch(true);
    let processes = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const next = () => processes++ * ORDERS_PER_PROCESS;
      const ids = idsFrom(BigInt(next()), ORDERS_PER_SERVER);
      await store.orders.place(ids.map(pendingOrder));
      const deliverer = { address, receiver: receiver.url, epoch };
      const jobs = [deliverer, { ...deliverer, firstOrder: next() }, { address, epoch, firstOrder: next() }];
      const killed = Promise.all(jobs.map((job) => runUntilKilled(job, random)));
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
    expectSame(receiver.received, stored);
    expect(stored.size).toBeGreaterThan(10 * ROUNDS);
    expect(receiver.state.signed).toBeGreaterThan(0);
    const cancels = [...stored.values()].filter(({ by }) => by.startsWith("shop")).length;
    expect(cancels).toBeGreaterThan(0);
    reportFigures(`delivery (${engine})`, {
      rounds: ROUNDS,
      "processes killed": 4 * ROUNDS,
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

test("changes of processes that are killed are all delivered from SQLite, in their order", async () => {
  await expectAllDelivered("SQLite", { kind: "sqlite", path: join(cli.directory, "orders.db") });
});

test.skipIf(skipsWithoutPostgres("delivery of changes from PostgreSQL"))(
  "changes of processes that are killed are all delivered from PostgreSQL, in their order, although it crashes",
  async () => {
    const server = await startPostgres();
    try {
      await expectAllDelivered(
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

test("changes of processes that are killed are all delivered from DynamoDB, in their order, although responses are lost", async () => {
  const random = createRandom("delivery responses");
  const emulator = await startEmulator("all-old");
  const proxy = await startProxy(emulator.endpoint);
  const client = clientFor(emulator.endpoint);
  const prefix = "delivery";
  try {
    await createDynamodbTables({ prefix, client });
    proxy.chooseFault = ({ operation }) =>
      /UpdateItem|PutItem/.test(operation) && random.chance(0.03) ? "lose" : "pass";
    await expectAllDelivered("DynamoDB", { kind: "dynamodb", endpoint: proxy.endpoint, prefix });
  } finally {
    client.destroy();
    await proxy.close();
    await emulator.stop();
  }
});
