import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { NewerSchemaError, StoreUnavailableError } from "../../../lib/errors.ts";
import { MINUTE_MS } from "../../../lib/plans/windows.ts";
import { createSqliteStore } from "../../../lib/stores/sqlite/index.ts";
import { SCHEMA_VERSION } from "../../../lib/stores/sqlite/schema.ts";
import { ACCOUNT, AT, PRESENTED, temporaryDirectory } from "./fixture.ts";

const { directory, newPath } = temporaryDirectory();

describe("a database file", () => {
  test("orders, counters, rejections and bans survive a restart", async () => {
    const path = newPath();
    const before = createSqliteStore({ path });
    await before.accounts.create(ACCOUNT);
    await before.orders.place([{ record: { id: 1n }, status: "pending" }]);
    await before.orders.apply(1n, "cancel", AT);
    for (let call = 0; call < 81; call++) await before.accounts.admit(PRESENTED, AT);
    const account = await before.accounts.find("acme");
    await before.close();

    const after = createSqliteStore({ path });
    expect(await after.accounts.find("acme")).toEqual(account);
    expect((await after.orders.find(1n))?.status).toBe("cancelled");
    expect(await after.accounts.admit(PRESENTED, AT + MINUTE_MS)).toMatchObject({ code: "api_key_banned" });
    await after.close();
  });

  test("a new database is created with its directories, readable by its owner only", async () => {
    const path = join(directory, "new", "directory", "orders.db");
    const store = createSqliteStore({ path });
    await store.accounts.create(ACCOUNT);
    for (const suffix of ["", "-wal", "-shm"]) expect(statSync(path + suffix).mode & 0o077, suffix).toBe(0);
    await store.close();
  });

  test("a database of a newer version is rejected and left unmodified", async () => {
    const path = newPath();
    await createSqliteStore({ path }).close();
    const raw = new DatabaseSync(path);
    raw.exec("PRAGMA user_version = 99; PRAGMA journal_mode = DELETE");
    raw.close();
    const before = readFileSync(path);
    expect(() => createSqliteStore({ path })).toThrow(NewerSchemaError);
    expect(() => createSqliteStore({ path })).toThrow(
      `The database has schema version 99; this version supports up to ${SCHEMA_VERSION}.`,
    );
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  test("a database of another program is rejected and left unmodified", () => {
    const path = newPath();
    const raw = new DatabaseSync(path);
    raw.exec("CREATE TABLE notes (text)");
    raw.close();
    const before = readFileSync(path);
    const problem = { message: expect.stringContaining("a database of another program"), retryable: false };
    expect(() => createSqliteStore({ path })).toThrow(expect.objectContaining(problem));
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  test("a file that is not a database, or cannot be opened, makes the store unavailable", () => {
    const path = newPath();
    writeFileSync(path, "This text is not a database. ".repeat(100));
    expect(() => createSqliteStore({ path })).toThrow(StoreUnavailableError);
    expect(() => createSqliteStore({ path: directory })).toThrow(StoreUnavailableError);
  });
});
