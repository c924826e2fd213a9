import { existsSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { collect } from "../../../lib/stores/contract/contract-case.ts";
import { createSqliteStore } from "../../../lib/stores/sqlite/index.ts";
import { SCHEMA_VERSION } from "../../../lib/stores/sqlite/schema.ts";
import { MAX_STORE_CALL_MS } from "../../../lib/stores/store.ts";
import { temporaryDirectory } from "./fixture.ts";

const { newPath, open } = temporaryDirectory();

test("a database in memory creates no file", async () => {
  const store = createSqliteStore({ path: ":memory:" });
  await store.check();
  await store.close();
  expect(existsSync(":memory:")).toBe(false);
});

type Fault = (path: string, other: DatabaseSync) => unknown;
const run =
  (sql: string): Fault =>
  (_path, other) =>
    other.exec(sql);
const rename =
  (from: string, to: string): Fault =>
  (path) =>
    renameSync(path + from, path + to);
const alter = (change: string) => run(`ALTER TABLE ${change}`);
const LACKS = "lacks a table or a column. Restore a backup.";
const newer = "A newer version has migrated the database";

/** What makes a write fail, and what ends it. A full disk and a read-only database are in the fault suite. */
const FAULTS: readonly (readonly [name: string, message: string, start: Fault, stop: Fault])[] = [
  ["a locked file", "cannot be used", run("BEGIN IMMEDIATE"), run("COMMIT")],
  ["a newer schema", newer, run("PRAGMA user_version = 99"), run(`PRAGMA user_version = ${SCHEMA_VERSION}`)],
  ["a table that is missing", LACKS, alter("settings RENAME TO lost"), alter("lost RENAME TO settings")],
  ["a column that is missing", LACKS, alter("accounts RENAME plan TO p"), alter("accounts RENAME p TO plan")],
  ["a file that was moved", "was moved or replaced", rename("", ".moved"), rename(".moved", "")],
];

describe("check", () => {
  test.each(FAULTS)(
    "check sees %s, and that it is over",
    async (_, message, start, stop) => {
      const { path, store } = open();
      await store.check();
      const other = new DatabaseSync(path);
      start(path, other);
      const before = performance.now();
      // The file is compared with the path every 100 ms.
      const problem = expect.objectContaining({
        code: "store_unavailable",
        message: expect.stringContaining(message),
      });
      await expect
        .poll(() => store.check().catch((error: unknown) => error), { timeout: 10_000 })
        .toEqual(problem);
      expect(performance.now() - before).toBeLessThan(2 * MAX_STORE_CALL_MS);
      stop(path, other);
      await store.check();
      other.close();
    },
    20_000,
  );

  test("a check commits a write, and changes nothing that a call returns", async () => {
    const { path, store } = open();
    await store.orders.place([{ record: { id: 1n }, status: "pending" }]);
    const other = new DatabaseSync(path);
    const commits = () => other.prepare("PRAGMA data_version").get()?.["data_version"];
    const before = commits();
    for (const _ of [1, 2, 3]) await store.check();
    expect(commits()).not.toBe(before);
    other.close();
    expect(await store.orders.page({ limit: 2 })).toEqual({
      orders: [{ record: { id: 1n }, status: "pending" }],
    });
  });
});

describe("an existing database", () => {
  test("a store of an existing database opens it, and does not create a missing one", async () => {
    const [path, missing, empty] = [newPath(), newPath(), newPath()];
    await createSqliteStore({ path }).close();
    const store = createSqliteStore({ path, existing: true });
    await store.check();
    await store.close();

    const refused = (text: string) =>
      expect.objectContaining({ code: "store_unavailable", message: expect.stringContaining(text) });
    const openExisting = (file: string) => () => createSqliteStore({ path: file, existing: true });
    expect(openExisting(missing)).toThrow(refused("There is no database at "));
    expect(existsSync(missing)).toBe(false);
    writeFileSync(empty, "");
    expect(openExisting(empty)).toThrow(refused("is empty"));
    rmSync(empty);
  });
});

test("an outbox is on with both of its triggers, and switching it on adds one that is missing", async () => {
  const { path, store } = open();
  const { outbox = expect.fail() } = store;
  const db = new DatabaseSync(path);
  for (const name of ["outbox_placed", "outbox_changed"]) {
    await outbox.switch(true);
    expect(await outbox.isOn()).toBe(true);
    db.exec(`DROP TRIGGER ${name}`);
    expect(await outbox.isOn(), name).toBe(false);
  }
  db.close();
});

test("accounts beyond a page are listed once, in order, and other requests are served between two pages", async () => {
  const { store } = open();
  const ids = Array.from({ length: 230 }, (_, index) => `shop-${1_000 + index}`);
  for (const id of ids) await store.accounts.create({ id, plan: "free", keys: [] });
  let turns = 0;
  const countTurns = () => {
    turns++;
    next = setImmediate(countTurns);
  };
  let next = setImmediate(countTurns);
  for (const limit of [undefined, 101, 230]) {
    const listed = await collect(store.accounts.list("", limit));
    expect(listed.map(({ id }) => id)).toEqual(ids.slice(0, limit));
  }
  clearImmediate(next);
  expect(turns).toBeGreaterThanOrEqual(6);
});
