import { statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { MINUTE_MS } from "../../../lib/plans/windows.ts";
import { openConnection } from "../../../lib/stores/sqlite/connection.ts";
import { createSqliteStore } from "../../../lib/stores/sqlite/index.ts";
import { ACCOUNT, AT, PRESENTED, temporaryDirectory } from "./fixture.ts";

const { newPath } = temporaryDirectory();

test("durable writes wait for the disk, and relaxed writes do not", async () => {
  const { db, write, close } = openConnection(newPath());
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

test("the write-ahead log stays bounded during many writes", async () => {
  const path = newPath();
  const store = createSqliteStore({ path });
  await store.accounts.create({ ...ACCOUNT, plan: "business" });
  for (let round = 0; round < 3_000; round++) await store.accounts.admit(PRESENTED, AT + round * MINUTE_MS);
  expect(statSync(`${path}-wal`).size).toBeLessThan(8 * 1024 * 1024);
  await store.close();
});
