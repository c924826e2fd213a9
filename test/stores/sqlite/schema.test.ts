import { readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { NewerSchemaError } from "../../../lib/core/errors.ts";
import { createSqliteStore } from "../../../lib/stores/sqlite/index.ts";
import { MIGRATIONS, migrate, SCHEMA_VERSION } from "../../../lib/stores/sqlite/schema.ts";
import { ACCOUNT, AT, execute, PRESENTED, temporaryDirectory } from "./fixture.ts";

const { newPath } = temporaryDirectory();

const LATER = [...MIGRATIONS, "ALTER TABLE orders ADD COLUMN note TEXT", "UPDATE orders SET note = 'old'"];

test("later scripts migrate a database with its content, once, and stops what serves it", async () => {
  const path = newPath();
  const store = createSqliteStore({ path });
  await store.accounts.create(ACCOUNT);
  await store.orders.place([{ record: { id: 1n }, status: "pending" }]);
  const later = new DatabaseSync(path);
  for (const _ of [1, 2]) migrate(later, { scripts: LATER });
  expect(later.prepare("SELECT id, status, note FROM orders").all()).toEqual([
    { id: 1, status: "pending", note: "old" },
  ]);
  expect(later.prepare("PRAGMA user_version").get()).toEqual({ user_version: SCHEMA_VERSION + 2 });
  for (const write of [
    store.accounts.admit(PRESENTED, AT),
    store.orders.apply(1n, "cancel", AT),
    store.orders.place([{ record: { id: 2n }, status: "pending" }]),
  ]) {
    await expect(write).rejects.toMatchObject({
      code: "store_unavailable",
      retryable: false,
      message: "A newer version has migrated the database. Upgrade store-orders.",
      cause: new NewerSchemaError(`The database now has schema version ${SCHEMA_VERSION + 2}.`),
    });
  }
  await store.close();
  expect(() => createSqliteStore({ path })).toThrow(NewerSchemaError);
  later.close();
});

test("a new database gets all scripts, and a script that fails changes nothing", () => {
  const db = new DatabaseSync(newPath());
  expect(() => migrate(db, { scripts: [...LATER, "CREATE TABLE notes (id); SELECT nothing"] })).toThrow(
    "nothing",
  );
  // As a full disk does, this ends the transaction.
  expect(() => migrate(db, { scripts: [...LATER, "ROLLBACK; SELECT nothing"] })).toThrow("nothing");
  expect(db.prepare("SELECT count(*) AS tables FROM sqlite_schema").get()).toEqual({ tables: 0 });
  migrate(db, { scripts: LATER });
  expect(db.prepare("SELECT count(*) AS notes FROM orders WHERE note IS NULL").get()).toEqual({ notes: 0 });
  db.close();
});

const NEWER = expect.stringContaining(
  `The database has schema version 99; this version supports up to ${SCHEMA_VERSION}.`,
);
const FOREIGN = expect.stringContaining("a database of another program");

const unreleased = (version: number) =>
  `The database has schema version ${version}, of store-orders before its first release. Export its orders with the program that wrote it, import them into a new database, and issue new keys.`;

test.each<readonly [whose: string, sql: string, isOurs: boolean, message: unknown]>([
  ["an unreleased version", "PRAGMA user_version = 1", true, unreleased(1)],
  ["an unreleased version", "PRAGMA user_version = 4", true, unreleased(4)],
  ["a newer version", "PRAGMA user_version = 99", true, NEWER],
  ["another program", "CREATE TABLE notes (text)", false, FOREIGN],
  ["another program", "PRAGMA user_version = 1", false, FOREIGN],
  ["another program", "PRAGMA application_id = 7", false, FOREIGN],
])("a database of %s, by '%s', is refused and left unmodified", async (_, sql, isOurs, message) => {
  const path = newPath();
  if (isOurs) await createSqliteStore({ path }).close();
  execute(path, `${sql}; PRAGMA journal_mode = DELETE`);
  const before = readFileSync(path);
  expect(() => createSqliteStore({ path })).toThrow(expect.objectContaining({ message, retryable: false }));
  expect(readFileSync(path).equals(before)).toBe(true);
});

test.each([5, 6])(
  "a database of version %i is migrated, and counts its orders by reading them",
  async (version) => {
    const path = newPath();
    const raw = new DatabaseSync(path);
    migrate(raw, { scripts: MIGRATIONS.slice(0, version - 4) });
    expect(raw.prepare("PRAGMA user_version").get()).toEqual({ user_version: version });
    raw.exec(`INSERT INTO orders VALUES (1, 'pending', '{"id":1}', ''), (2, 'pending', '{"id":2}', '');
    UPDATE orders SET status = 'collected' WHERE id = 1`);

    const store = createSqliteStore({ path });
    expect(await store.orders.countByStatus()).toMatchObject({ pending: 1, shipped: 0, cancelled: 0 });
    raw.exec("UPDATE orders SET status = 'shipped' WHERE id = 1");
    expect(await store.orders.apply(2n, "cancel", 0)).toMatchObject({ ok: true });
    expect(await store.orders.countByStatus()).toMatchObject({ pending: 0, shipped: 1, cancelled: 1 });
    await store.close();
    raw.close();
  },
);
