import { renameSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { DEFAULT_BAN_POLICY } from "../../../lib/accounts/admission.ts";
import { countRecords } from "../../../lib/orders/wire.ts";
import { MINUTE_MS } from "../../../lib/plans/windows.ts";
import { collect } from "../../../lib/stores/contract/contract-case.ts";
import { accountQueries, createAccountStore } from "../../../lib/stores/sqlite/accounts.ts";
import { admissionQueries } from "../../../lib/stores/sqlite/admission.ts";
import { openDatabase } from "../../../lib/stores/sqlite/database.ts";
import { createSqliteStore } from "../../../lib/stores/sqlite/index.ts";
import { createOrderStore, orderQueries } from "../../../lib/stores/sqlite/orders.ts";
import { createOutbox, outboxQueries } from "../../../lib/stores/sqlite/outbox.ts";
import { MAX_STORE_CALL_MS } from "../../../lib/stores/store.ts";
import { createHandlerFixture } from "../../http/fixture.ts";
import { ACCOUNT, AT, KEY, PRESENTED, temporaryDirectory } from "./fixture.ts";

const { newPath } = temporaryDirectory();

const LEASE = -MINUTE_MS;
const CANCEL = { type: "apply", id: 1n, event: "cancel" } as const;

test("durable writes wait for the disk, and relaxed writes do not", async () => {
  const { read, write, close } = openDatabase(newPath(), (opened) => opened, { existing: false });
  const db = await read((opened) => opened);
  const synchronous = db.prepare("PRAGMA synchronous");
  const modes = [];
  for (const durability of ["durable", "relaxed", "durable"] as const) {
    modes.push(await write(durability, () => synchronous.get()?.["synchronous"]));
  }
  expect(modes).toEqual([2, 1, 2]);
  expect(db.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
  const together = [write("relaxed", () => synchronous.get()), write("durable", () => synchronous.get())];
  expect(await Promise.all(together)).toEqual([{ synchronous: 2 }, { synchronous: 2 }]);
  await close();
});

/** Opens a store that records, for each write, what SQLite waits for at its commit. */
function openObservedStore() {
  const observed: (readonly [query: string, synchronous: unknown])[] = [];
  const observe = <Q extends object>(db: DatabaseSync, queries: Q): Q =>
    Object.fromEntries(
      Object.entries(queries).map(([name, query]) => [
        name,
        (...args: never[]) => {
          if (db.isTransaction)
            observed.push([name, db.prepare("PRAGMA synchronous").get()?.["synchronous"]]);
          return query(...args);
        },
      ]),
    ) as Q;
  const database = openDatabase(
    newPath(),
    (db) => ({
      orders: observe(db, orderQueries(db)),
      accounts: observe(db, accountQueries(db)),
      admission: observe(db, admissionQueries(db)),
      outbox: observe(db, outboxQueries(db)),
    }),
    { existing: false },
  );
  return {
    ...database,
    orders: createOrderStore(database),
    accounts: createAccountStore(database),
    outbox: createOutbox(database),
    observed,
  };
}

test("each kind of write is durable or relaxed as documented, and each other call writes nothing", async () => {
  const { orders, accounts, outbox, observed, close } = openObservedStore();
  const FULL = 2;
  const NORMAL = 1;
  const drain = async (pages: AsyncIterable<unknown>) => void (await collect(pages));
  const calls: Record<string, [call: () => Promise<unknown>, ...expected: typeof observed]> = {
    "orders.place": [() => orders.place([{ record: { id: 1n }, status: "pending" }]), ["place", FULL]],
    "orders.apply": [() => orders.apply(1n, "ship", AT), ["apply", FULL]],
    "orders.find": [() => orders.find(1n)],
    "orders.list": [() => drain(orders.list())],
    "orders.page": [() => orders.page({ limit: 1 })],
    "orders.countByStatus": [() => orders.countByStatus()],
    "orders.using": [async () => orders.using(new DatabaseSync(":memory:"))],
    "accounts.recordEnvironment": [() => accounts.recordEnvironment("test"), ["recordEnvironment", FULL]],
    "accounts.create": [() => accounts.create(ACCOUNT), ["create", FULL]],
    "accounts.find": [() => accounts.find("acme")],
    "accounts.list": [() => drain(accounts.list())],
    "accounts.update": [
      () => accounts.update("acme", (account) => ({ ok: true, account })),
      ["update", FULL],
    ],
    "accounts.delete": [() => accounts.delete("other"), ["delete", FULL]],
    "accounts.resetUsage": [() => accounts.resetUsage("acme"), ["resetUsage", FULL]],
    "accounts.unban": [() => accounts.unban("acme", KEY.id), ["unban", FULL]],
    "accounts.admit": [() => accounts.admit(PRESENTED, AT), ["admit", NORMAL]],
    "accounts.admit with a list": [
      () => accounts.admit(PRESENTED, AT, DEFAULT_BAN_POLICY, { type: "list" }),
      ["admit", NORMAL],
      ["listPage", NORMAL],
    ],
    "accounts.admit with an event": [
      () => accounts.admit(PRESENTED, AT, DEFAULT_BAN_POLICY, CANCEL),
      ["admit", FULL],
      ["apply", FULL],
    ],
    "accounts.recordRejections": [
      () => accounts.recordRejections(PRESENTED, 1, AT),
      ["recordRejections", NORMAL],
    ],
    "outbox.switch": [() => outbox.switch(true), ["switch", FULL]],
    "outbox.isOn": [() => outbox.isOn()],
    "an order with the outbox on": [
      () => orders.place([{ record: { id: 2n }, status: "pending" }]),
      ["place", FULL],
    ],
    "outbox.lease": [() => outbox.lease(1, AT, LEASE), ["lease", NORMAL]],
    "outbox.lease of nothing": [() => outbox.lease(1, AT, LEASE)],
    "outbox.held": [() => outbox.held(AT, 10)],
    "outbox.release": [() => outbox.release([{ id: 2n, hold: AT }]), ["release", NORMAL]],
    "outbox.postpone": [() => outbox.postpone(2n, LEASE, undefined), ["postpone", NORMAL]],
    "outbox.list": [() => outbox.list("failed", 1)],
    "outbox.retry": [() => outbox.retry(undefined), ["retry", FULL]],
    "outbox.acknowledge": [
      () => outbox.acknowledge([{ id: 2n, delivered: 1, lease: -1 }]),
      ["acknowledge", NORMAL],
    ],
    "outbox.backlog": [() => outbox.backlog()],
  };
  for (const [name, [call, ...expected]] of Object.entries(calls)) {
    observed.length = 0;
    await call();
    expect(observed, name).toEqual(expected);
  }
  const methods = [
    ...Object.keys(orders).map((name) => `orders.${name}`),
    ...Object.keys(accounts).map((name) => `accounts.${name}`),
    ...Object.keys(outbox).map((name) => `outbox.${name}`),
  ];
  expect(methods.filter((name) => !(name in calls))).toEqual([]);
  await close();
});

test("a store that is closed commits what was called before, and opens its file no more", async () => {
  const path = newPath();
  const store = createSqliteStore({ path });
  const placed = store.orders.place([{ record: { id: 1n }, status: "pending" }]);
  const closed = store.close();
  expect(await placed).toEqual(["placed"]);
  await closed;
  const moved = createSqliteStore({ path });
  renameSync(path, `${path}.moved`);
  await expect(moved.orders.apply(1n, "cancel", AT)).rejects.toThrow("was moved or replaced");
  await moved.close();
  renameSync(`${path}.moved`, path);
  await expect(moved.orders.find(1n)).rejects.toMatchObject({
    code: "store_unavailable",
    message: "The database cannot be used.",
  });
});

test("the minute of the last admitted request of each key is kept", async () => {
  const store = createSqliteStore({ path: newPath() });
  const unused = { ...KEY, id: "acme.2", hash: "2".repeat(64) };
  await store.accounts.create({ ...ACCOUNT, keys: [KEY, unused] });
  await store.accounts.admit(PRESENTED, AT + 1_000);
  expect((await store.accounts.find("acme"))?.lastUses).toEqual({ [KEY.id]: AT });
  await store.accounts.admit(PRESENTED, AT + 61_000);
  expect((await store.accounts.find("acme"))?.lastUses).toEqual({ [KEY.id]: AT + 60_000 });
  await store.close();
});

test("the rejections of an unknown key are counted for nobody", async () => {
  const store = createSqliteStore({ path: newPath() });
  await store.accounts.create(ACCOUNT);
  await store.accounts.recordRejections({ ...PRESENTED, hash: "2".repeat(64) }, 5, AT);
  await store.accounts.recordRejections({ ...PRESENTED, accountId: "other" }, 5, AT);
  expect((await store.accounts.find("acme"))?.rejections).toEqual({});
  await store.close();
});

test("a call waits without blocking the event loop while another process locks the database", async () => {
  const path = newPath();
  const store = createSqliteStore({ path });
  await store.accounts.create(ACCOUNT);
  const other = new DatabaseSync(path);
  other.exec("BEGIN IMMEDIATE");
  const admission = store.accounts.admit(PRESENTED, AT);
  await new Promise((resolve) => setTimeout(resolve, 50));
  other.exec("COMMIT");
  other.close();
  expect(await admission).toMatchObject({ ok: true });
  await store.close();
});

test("a read is repeated while the database is locked, until its time is over", async () => {
  const { read, close } = openDatabase(newPath(), () => 0, { existing: false });
  const locked = Object.assign(new Error("database is locked"), { errcode: 5 });
  let calls = 0;
  const readAfter = (attempts: number) =>
    read(() => {
      if (++calls < attempts) throw locked;
      return calls;
    });
  let turns = 0;
  setImmediate(() => turns++);
  expect(await readAfter(3)).toBe(3);
  expect(turns, "the event loop goes on").toBe(1);
  let now = 0;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => (now += MAX_STORE_CALL_MS / 5));
  await expect(readAfter(100)).rejects.toMatchObject({ code: "store_unavailable", cause: locked });
  clock.mockRestore();
  expect(calls).toBeGreaterThan(5);
  expect(calls).toBeLessThan(10);
  await close();
});

test("the write-ahead log stays bounded during many writes", async () => {
  const path = newPath();
  const store = createSqliteStore({ path });
  await store.accounts.create({ ...ACCOUNT, plan: "business" });
  for (let round = 0; round < 3_000; round++) await store.accounts.admit(PRESENTED, AT + round * MINUTE_MS);
  expect(statSync(`${path}-wal`).size).toBeLessThan(8 * 1024 * 1024);
  await store.close();
});

test("a cancel is committed in the transaction that admits it", async () => {
  const path = newPath();
  const store = createSqliteStore({ path });
  await store.accounts.create(ACCOUNT);
  await store.orders.place([{ record: { id: 1n }, status: "pending" }]);
  const admission = await store.accounts.admit(PRESENTED, AT, DEFAULT_BAN_POLICY, CANCEL);
  // A second transaction would begin in a later turn of the event loop.
  const other = new DatabaseSync(path);
  expect(other.prepare("SELECT status FROM orders").get()).toEqual({ status: "cancelled" });
  const order = { record: { id: 1n }, status: "cancelled" };
  expect(admission).toMatchObject({ outcome: { type: "apply", result: { ok: true, order } } });
  other.close();
  await store.close();
});

test("the first page of a list is read in the transaction that admits it, and the rest on demand", async () => {
  const path = newPath();
  const store = createSqliteStore({ path });
  await store.accounts.create(ACCOUNT);
  const place = (from: number, count: number) =>
    store.orders.place(
      Array.from({ length: count }, (_, id) => ({ record: { id: BigInt(from + id) }, status: "pending" })),
    );
  await place(0, 1_500);
  const admission = await store.accounts.admit(PRESENTED, AT, DEFAULT_BAN_POLICY, { type: "list" });
  if (!admission.ok || admission.outcome?.type !== "list") throw new Error("The list has no outcome.");
  const { first, rest } = admission.outcome;
  expect([countRecords(first.json), first.last]).toEqual([1_000, false]);
  await place(1_500, 10);
  const pages = await collect(rest);
  expect(pages.map(({ json, last }) => [countRecords(json), last])).toEqual([[510, true]]);
  await store.close();
});

test("an admission counts although its order is damaged, and the caller gets the error when it performs it", async () => {
  const path = newPath();
  const store = createSqliteStore({ path });
  await store.accounts.create(ACCOUNT);
  const db = new DatabaseSync(path);
  db.exec("INSERT INTO orders VALUES (1, 'pending', 'no JSON', '')");
  db.close();
  const [damaged, other] = await Promise.all([
    store.accounts.admit(PRESENTED, AT, DEFAULT_BAN_POLICY, { ...CANCEL, event: "ship" }),
    // Shares the transaction.
    store.accounts.admit(PRESENTED, AT, DEFAULT_BAN_POLICY, { ...CANCEL, id: 2n }),
  ]);
  expect(damaged).not.toHaveProperty("outcome");
  expect(other).toMatchObject({ outcome: { result: { code: "order_not_found" } } });
  expect((await store.accounts.find("acme"))?.usage.minute.count).toBe(2);
  await store.close();
});

test("the service cancels with its admission, also behind a wrapper that waits", async () => {
  const path = newPath();
  const store = createSqliteStore({ path });
  const other = new DatabaseSync(path);
  const statuses: unknown[] = [];
  const { send } = await createHandlerFixture({
    store: {
      ...store,
      accounts: {
        ...store.accounts,
        async admit(...args) {
          await sleep(5);
          const admission = await store.accounts.admit(...args);
          statuses.push(other.prepare("SELECT status FROM orders WHERE id = 1").get());
          await sleep(5);
          return admission;
        },
      },
    },
  });
  expect((await send("DELETE", "/v1/store/orders/1")).status).toBe(204);
  expect(statuses).toEqual([{ status: "cancelled" }]);
  other.close();
  await store.close();
});

test("if the transaction fails, so does the request, and it is neither counted nor performed", async () => {
  const path = newPath();
  const store = createSqliteStore({ path });
  const fixture = await createHandlerFixture({ store });
  const other = new DatabaseSync(path);
  other.exec("CREATE TRIGGER fail BEFORE UPDATE ON orders BEGIN SELECT raise(ABORT, 'no'); END");
  expect((await fixture.send("DELETE", "/v1/store/orders/1")).status).toBe(500);
  other.exec("DROP TRIGGER fail");
  other.close();
  expect((await store.accounts.find("shop"))?.usage.minute.count).toBe(0);
  expect((await store.orders.find(1n))?.status).toBe("pending");
  expect((await fixture.send("DELETE", "/v1/store/orders/1")).status).toBe(204);
  await store.close();
});

test("an error that ends the transaction, as a full disk does, reaches the caller", async () => {
  const path = newPath();
  const store = createSqliteStore({ path });
  await store.accounts.create(ACCOUNT);
  const db = new DatabaseSync(path);
  db.exec(
    "CREATE TRIGGER full BEFORE INSERT ON api_keys BEGIN SELECT RAISE(ROLLBACK, 'The disk is full.'); END",
  );
  const settings = { ...ACCOUNT, id: "other", keys: [{ ...KEY, id: "other.1", hash: "2".repeat(64) }] };
  await expect(store.accounts.create(settings)).rejects.toThrow("The disk is full.");
  db.exec("DROP TRIGGER full");
  db.close();
  expect(await store.accounts.find("other")).toBeUndefined();
  expect(await store.accounts.create(settings)).toMatchObject({ ok: true });
  await store.close();
});

test("an account is changed completely or not at all, also if a value cannot be stored", async () => {
  const store = createSqliteStore({ path: newPath() });
  await store.accounts.create(ACCOUNT);
  const key = { ...ACCOUNT.keys[0], createdAt: undefined as never } as (typeof ACCOUNT.keys)[number];
  const settings = { ...ACCOUNT, plan: "enterprise", keys: [key] } as const;
  const changes = [
    store.accounts.update(ACCOUNT.id, () => ({ ok: true, account: settings })),
    store.accounts.create({ ...settings, id: "other" }),
    // Shares their transaction, and is not affected.
    store.orders.place([{ record: { id: 1n }, status: "pending" }]),
  ];
  const outcomes = await Promise.allSettled(changes);
  expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected", "fulfilled"]);
  expect(await store.accounts.find(ACCOUNT.id)).toMatchObject({ plan: ACCOUNT.plan, keys: ACCOUNT.keys });
  expect(await store.accounts.find("other")).toBeUndefined();
  expect(await store.orders.find(1n)).toBeDefined();
  await store.close();
});
