import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test, vi } from "vitest";
import { StoreUnavailableError } from "../../../lib/core/errors.ts";
import { backUpSqlite } from "../../../lib/stores/sqlite/backup.ts";
import { createSqliteStore } from "../../../lib/stores/sqlite/index.ts";
import { limitFiles, reasonToSkip } from "../../faults/sqlite/disk-limit.ts";
import { skipsBecause } from "../../support/skip-reason.ts";
import { execute, temporaryDirectory } from "./fixture.ts";

const { directory, newPath } = temporaryDirectory();

function newFolder(name: string): string {
  const folder = join(directory, name);
  mkdirSync(folder);
  return folder;
}

async function createDatabase(): Promise<string> {
  const path = newPath();
  const store = createSqliteStore({ path });
  await store.orders.place([{ record: { id: 1n }, status: "pending" }]);
  await store.close();
  return path;
}

test("a backup is a new file with all orders, which only its owner can read", async () => {
  const path = await createDatabase();
  const to = newPath();
  expect(await backUpSqlite({ path, to })).toEqual({ ok: true });
  if (process.platform !== "win32") expect(statSync(to).mode & 0o077).toBe(0);
  const copy = createSqliteStore({ path: to });
  expect(await copy.orders.find(1n)).toMatchObject({ status: "pending" });
  await copy.close();
});

test("a backup does not keep the database open: its log is deleted when the store is closed", async () => {
  const path = newPath();
  const to = newPath();
  const store = createSqliteStore({ path });
  await store.orders.place([{ record: { id: 1n }, status: "pending" }]);
  await backUpSqlite({ path, to });
  expect(await backUpSqlite({ path, to })).toEqual({ ok: false, code: "file_exists" });
  expect(existsSync(`${path}-wal`)).toBe(true);
  await store.close();
  expect(existsSync(`${path}-wal`)).toBe(false);
});

test("a backup never replaces a file", async () => {
  const to = newPath();
  writeFileSync(to, "mine");
  const path = await createDatabase();
  expect(await backUpSqlite({ path, to })).toEqual({ ok: false, code: "file_exists" });
  expect(readFileSync(to, "utf8")).toBe("mine");
});

test("a backup of no database, or into no folder, is an error and leaves no file", async () => {
  const folder = newFolder("empty");
  const to = join(folder, "copy.db");
  const empty = newPath();
  writeFileSync(empty, "");
  for (const path of [join(folder, "missing.db"), directory, empty])
    await expect(backUpSqlite({ path, to })).rejects.toThrow(StoreUnavailableError);
  expect(readdirSync(folder)).toEqual([]);
  const path = await createDatabase();
  const intoNoFolder = backUpSqlite({ path, to: join(folder, "missing", "copy.db") });
  await expect(intoNoFolder).rejects.toMatchObject({ code: "ENOENT" });
  expect(existsSync(join(folder, "missing"))).toBe(false);
});

test("a backup of another program's database is refused", async () => {
  const path = newPath();
  execute(path, "CREATE TABLE notes (text)");
  const to = newPath();
  await expect(backUpSqlite({ path, to })).rejects.toThrow("a database of another program");
  expect(existsSync(to)).toBe(false);
});

test("a backup that fails after it has begun leaves no file", async () => {
  const path = await createDatabase();
  const folder = newFolder("failing");
  // Its first page is that of a database, but the rest is missing.
  const damaged = join(folder, "damaged.db");
  writeFileSync(damaged, readFileSync(path).subarray(0, 8_192));
  const to = join(folder, "copy.db");
  await expect(backUpSqlite({ path: damaged, to })).rejects.toThrow(StoreUnavailableError);
  expect(readdirSync(folder).filter((name) => name.startsWith("copy"))).toEqual([]);
});

test.skipIf(skipsBecause("a backup without room for it", reasonToSkip()))(
  "a backup for which there is no room is an error that names the copy, and leaves no file",
  async () => {
    const path = await createDatabase();
    const folder = newFolder("full");
    const to = join(folder, "copy.db");
    // Enough for the index of the log (32 KiB), which opening the database creates.
    limitFiles(process.pid, 40_000);
    try {
      const message = `The database or its copy ${to} cannot be used.`;
      await expect(backUpSqlite({ path, to })).rejects.toThrow(message);
    } finally {
      limitFiles(process.pid, "unlimited");
    }
    expect(readdirSync(folder)).toEqual([]);
  },
);

test("a backup that is aborted leaves no file, and none that was written since is deleted", async () => {
  const path = await createDatabase();
  const folder = newFolder("aborted");
  const to = join(folder, "copy.db");
  const stop = new AbortController();
  const backup = backUpSqlite({ path, to, signal: stop.signal });
  // SQLite, in a thread of its own, creates and removes a journal at any time.
  const files = () => readdirSync(folder).filter((name) => !name.endsWith("-journal"));
  expect(files()).toHaveLength(2);
  stop.abort(new Error("enough"));
  expect(files()).toEqual([]);
  writeFileSync(to, "mine");
  await expect(backup).rejects.toThrow("enough");
  await expect(backUpSqlite({ path, to: newPath(), signal: stop.signal })).rejects.toThrow("enough");
  expect(readdirSync(folder)).toEqual(["copy.db"]);
});

test("a program can change its working directory while a backup is written", async () => {
  const path = await createDatabase();
  const to = newPath();
  const cwd = vi.spyOn(process, "cwd").mockReturnValue(directory);
  onTestFinished(() => cwd.mockRestore());
  const backup = backUpSqlite({ path: basename(path), to: basename(to) });
  cwd.mockReturnValue("/");
  expect(await backup).toEqual({ ok: true });
  expect(statSync(to).size).toBeGreaterThan(0);
});

/** What the `.dump` of `sqlite3` keeps: the statements that create tables, the rows, then indexes and triggers. */
function dumpAndLoad(path: string, to: string): void {
  const db = new DatabaseSync(to);
  db.prepare("ATTACH ? AS old").run(path);
  const sql = db.prepare("SELECT type, name, sql FROM old.sqlite_schema WHERE sql > ''").all();
  for (const table of sql.filter(({ type }) => type === "table")) {
    db.exec(`${table["sql"]}`);
    db.exec(`INSERT INTO main."${table["name"]}" SELECT * FROM old."${table["name"]}"`);
  }
  for (const other of sql.filter(({ type }) => type !== "table")) db.exec(`${other["sql"]}`);
  db.close();
}

test("a database that went through a dump is read, copied and used as before", async () => {
  const [loaded, copy, database] = [newPath(), newPath(), await createDatabase()];
  const { outbox, close } = createSqliteStore({ path: database });
  await outbox?.switch(true);
  await close();
  dumpAndLoad(database, loaded);
  execute(loaded, "ANALYZE");
  expect(await backUpSqlite({ path: loaded, to: copy })).toEqual({ ok: true });
  for (const path of [loaded, copy]) {
    const store = createSqliteStore({ path, existing: true });
    expect(await store.orders.place([{ record: { id: 2n }, status: "shipped" }])).toEqual(["placed"]);
    expect(await store.orders.countByStatus()).toMatchObject({ pending: 1, shipped: 1, cancelled: 0 });
    await store.close();
  }
});

test.each(["DROP TABLE outbox", "CREATE TABLE other (id)", "DROP INDEX outbox_due"])(
  "a database that went through a dump and then through '%s' is of another program",
  async (change) => {
    const loaded = newPath();
    dumpAndLoad(await createDatabase(), loaded);
    execute(loaded, change);
    expect(() => createSqliteStore({ path: loaded })).toThrow("another program");
  },
);
