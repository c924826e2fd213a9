import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, expect, test } from "vitest";
import { createSqliteStore } from "../../../lib/stores/sqlite/index.ts";

const directory = mkdtempSync(join(tmpdir(), "store-orders-"));
afterAll(() => rmSync(directory, { recursive: true }));

/** The schema of version 1, as it was released. */
const VERSION_1 = `
  CREATE TABLE orders (id INTEGER PRIMARY KEY, status TEXT NOT NULL, record TEXT NOT NULL) STRICT;
  CREATE TABLE accounts (
    id TEXT PRIMARY KEY, plan TEXT NOT NULL, per_minute INTEGER, per_day INTEGER,
    minute_start INTEGER NOT NULL DEFAULT 0, minute_count INTEGER NOT NULL DEFAULT 0,
    day_start INTEGER NOT NULL DEFAULT 0, day_count INTEGER NOT NULL DEFAULT 0
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE api_keys (
    hash TEXT PRIMARY KEY, id TEXT NOT NULL UNIQUE, account TEXT NOT NULL REFERENCES accounts (id),
    position INTEGER NOT NULL, created_at INTEGER NOT NULL, expires_at INTEGER, revoked_at INTEGER,
    refused_start INTEGER, refused_count INTEGER, banned_until INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX api_keys_of_account ON api_keys (account, position);
  PRAGMA application_id = 0x534f7264;
  PRAGMA user_version = 1;`;

test("a database of version 1 is migrated, also with an expiry that no JavaScript number represents", async () => {
  const path = join(directory, "version-1.db");
  const db = new DatabaseSync(path);
  db.exec(VERSION_1);
  db.exec(`
    INSERT INTO accounts (id, plan) VALUES ('acme', 'pro');
    INSERT INTO api_keys (hash, id, account, position, created_at, expires_at) VALUES
      ('${"1".repeat(64)}', 'acme.1', 'acme', 0, 1000, 31557600000000000),
      ('${"2".repeat(64)}', 'acme.2', 'acme', 1, 1000, 2000),
      ('${"3".repeat(64)}', 'acme.3', 'acme', 2, 1000, NULL);`);
  db.close();

  const store = createSqliteStore({ path });
  const keys = (await store.accounts.find("acme"))?.keys ?? [];
  expect(keys.map(({ id, expiresAt }) => [id, expiresAt])).toEqual([
    ["acme.1", 8.64e15],
    ["acme.2", 2_000],
    ["acme.3", undefined],
  ]);
  const key = { accountId: "acme", hash: "1".repeat(64) };
  expect(await store.accounts.admit(key, Date.UTC(2026, 0))).toMatchObject({ ok: true });
  await store.close();
});
