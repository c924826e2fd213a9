import { renameSync, statSync } from "node:fs";
import { basename, dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test, vi } from "vitest";
import { DEFAULT_BAN_POLICY } from "../../../lib/accounts/admission.ts";
import { countRecords } from "../../../lib/orders/wire.ts";
import { MINUTE_MS } from "../../../lib/plans/windows.ts";
import { collect } from "../../../lib/stores/contract/contract-case.ts";
import { accountStatements, createAccountStore } from "../../../lib/stores/sqlite/accounts.ts";
import { admissionStatements } from "../../../lib/stores/sqlite/admission.ts";
import { openDatabase } from "../../../lib/stores/sqlite/database.ts";
import { createSqliteStore } from "../../../lib/stores/sqlite/index.ts";
import { createOrderStore, orderQueries } from "../../../lib/stores/sqlite/orders.ts";
import { createOutbox, outboxStatements } from "../../../lib/stores/sqlite/outbox.ts";
import { MAX_STORE_CALL_MS } from "../../../lib/stores/store.ts";
import { createHandlerFixture } from "../../http/fixture.ts";
import { expectDocumentedWrites } from "../documented-writes.ts";
import { ACCOUNT, AT, execute, KEY, PRESENTED, temporaryDirectory } from "./fixture.ts";

const { newPath, open } = temporaryDirectory();

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

test("each kind of write is durable or relaxed as documented, and each other call writes nothing", async () => {
  let writes: ("durable" | "relaxed")[] = [];
  const prepare = (db: DatabaseSync) => ({
    db,
    orders: orderQueries(db),
    accounts: accountStatements(db),
    admission: admissionStatements(db),
    outbox: outboxStatements(db),
  });
  const opened = openDatabase(newPath(), prepare, { existing: false });
  const recorded =
    <Q extends { readonly db: DatabaseSync }, T>(task: (queries: Q) => T) =>
    (queries: Q): T => {
      const { synchronous } = queries.db.prepare("PRAGMA synchronous").get() ?? {};
      writes.push(synchronous === 2 ? "durable" : "relaxed");
      return task(queries);
    };
  const database: typeof opened = {
    ...opened,
    write: (durability, task) => opened.write(durability, recorded(task)),
    writeInSequence: (durability, begin, task) => opened.writeInSequence(durability, recorded(begin), task),
    read: (task) =>
      opened.read((queries) => {
        const changes = () => queries.db.prepare("SELECT total_changes() AS rows").get()?.["rows"];
        const before = changes();
        const found = task(queries);
        expect(changes(), "a read changes no row").toBe(before);
        return found;
      }),
  };
  const orders = createOrderStore(database);
  const store = { orders, accounts: createAccountStore(database), outbox: createOutbox(database) };
  const takeWrites = () => {
    const taken = writes;
    writes = [];
    return taken;
  };
  const using = async () => orders.using(new DatabaseSync(":memory:"));
  await expectDocumentedWrites(store, takeWrites, { "orders.using": [using, "writes nothing"] });
  await database.close();
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
    message: "The store was closed.",
  });
  for (let attempt = 0; attempt < 2; attempt++)
    await expect(store.orders.apply(1n, "cancel", AT)).rejects.toThrow("The store was closed.");
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
  const { path, store } = open();
  await store.accounts.create({ ...ACCOUNT, plan: "business" });
  for (let round = 0; round < 3_000; round++) await store.accounts.admit(PRESENTED, AT + round * MINUTE_MS);
  expect(statSync(`${path}-wal`).size).toBeLessThan(8 * 1024 * 1024);
});

test("a cancel is committed in the transaction that admits it", async () => {
  const { path, store } = open();
  await store.accounts.create(ACCOUNT);
  await store.orders.place([{ record: { id: 1n }, status: "pending" }]);
  const admission = await store.accounts.admit(PRESENTED, AT, DEFAULT_BAN_POLICY, CANCEL);
  // A second transaction would begin in a later turn of the event loop.
  const other = new DatabaseSync(path);
  expect(other.prepare("SELECT status FROM orders").get()).toEqual({ status: "cancelled" });
  const order = { record: { id: 1n }, status: "cancelled" };
  expect(admission).toMatchObject({ outcome: { type: "apply", result: { ok: true, order } } });
  other.close();
});

test("the first page of a list is read in the transaction that admits it, and the rest on demand", async () => {
  const { store } = open();
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
});

test("if the transaction fails, so does the request, and it is neither counted nor performed", async () => {
  const { path, store } = open();
  const fixture = await createHandlerFixture({ store });
  execute(path, "CREATE TRIGGER fail BEFORE UPDATE ON orders BEGIN SELECT raise(ABORT, 'no'); END");
  expect((await fixture.send("DELETE", "/v1/store/orders/1")).status).toBe(500);
  execute(path, "DROP TRIGGER fail");
  expect((await store.accounts.find("shop"))?.usage.minute.count).toBe(0);
  expect((await store.orders.find(1n))?.status).toBe("pending");
  expect((await fixture.send("DELETE", "/v1/store/orders/1")).status).toBe(204);
});

test("an error that ends the transaction, as a full disk does, reaches the caller", async () => {
  const { path, store } = open();
  await store.accounts.create(ACCOUNT);
  const fail = "BEGIN SELECT RAISE(ROLLBACK, 'The disk is full.'); END";
  execute(path, `CREATE TRIGGER full BEFORE INSERT ON api_keys ${fail}`);
  const settings = { ...ACCOUNT, id: "other", keys: [{ ...KEY, id: "other.1", hash: "2".repeat(64) }] };
  await expect(store.accounts.create(settings)).rejects.toThrow("The disk is full.");
  execute(path, "DROP TRIGGER full");
  expect(await store.accounts.find("other")).toBeUndefined();
  expect(await store.accounts.create(settings)).toMatchObject({ ok: true });
});

test("an account is changed completely or not at all, also if a value cannot be stored", async () => {
  const { store } = open();
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
});

test("a key whose account has a limit that a number cannot hold is rejected, and admitted once it is corrected", async () => {
  const { path, store } = open();
  await store.accounts.create({ ...ACCOUNT, plan: "enterprise", customLimits: { perMinute: 5, perDay: 9 } });
  execute(path, "UPDATE accounts SET per_day = 9223372036854775807, minute_start = 9223372036854775807");
  expect(await store.accounts.admit(PRESENTED, AT)).toMatchObject({ reason: "plan_without_limits" });
  await store.accounts.recordRejections(PRESENTED, 1, AT);
  execute(path, "UPDATE accounts SET per_day = 9");
  expect(await store.accounts.admit(PRESENTED, AT)).toMatchObject({ ok: true, quota: { remaining: 4 } });
  expect((await store.accounts.find("acme"))?.usage.minute).toEqual({ start: AT, count: 1 });
});

test("a program can change its working directory", async () => {
  const path = newPath();
  const before = process.cwd();
  // A worker thread has no directory of its own.
  const cwd = vi.spyOn(process, "cwd").mockReturnValue(dirname(path));
  onTestFinished(() => cwd.mockRestore());
  const store = createSqliteStore({ path: basename(path) });
  cwd.mockReturnValue(before);
  await store.orders.place([{ record: { id: 1n }, status: "pending" }]);
  expect(await store.orders.find(1n)).toMatchObject({ status: "pending" });
  await store.close();
});

test.each([undefined, "", 5])("the path %j is an error that says so", (path) => {
  expect(() => createSqliteStore({ path: path as string })).toThrow("path: Give the path of a file");
});
