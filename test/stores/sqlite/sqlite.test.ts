import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { text } from "node:stream/consumers";
import { setImmediate } from "node:timers/promises";
import { afterAll, describe, expect, test } from "vitest";
import type { ApiKey } from "../../../lib/accounts/account.ts";
import { NewerSchemaError, StoreUnavailableError } from "../../../lib/errors.ts";
import { MINUTE_MS } from "../../../lib/plans/windows.ts";
import { storeContract } from "../../../lib/stores/contract/index.ts";
import { openConnection } from "../../../lib/stores/sqlite/connection.ts";
import { createSqliteStore } from "../../../lib/stores/sqlite/index.ts";
import { SCHEMA_VERSION } from "../../../lib/stores/sqlite/schema.ts";

const folder = mkdtempSync(join(tmpdir(), "store-orders-"));
afterAll(() => rmSync(folder, { recursive: true }));

let databases = 0;
const newPath = () => join(folder, `${databases++}.db`);

const AT = Date.UTC(2026, 10, 20, 12);
const KEY: ApiKey = { id: "shop.1", hash: "1".repeat(64), createdAt: AT };
const shop = { id: "shop", plan: "free", keys: [KEY] } as const;
const presented = { accountId: "shop", hash: KEY.hash };

/** Runs jobs, one a process, all at the same moment. */
async function inProcesses<T>(path: string, jobs: readonly (readonly (string | number)[])[]): Promise<T[]> {
  const worker = new URL("worker-process.ts", import.meta.url).pathname;
  const children = jobs.map(([job, ...rest]) => {
    const args = [worker, job, path, ...rest].map(String);
    return spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
  });
  await Promise.all(children.map(({ stdout }) => once(stdout, "data")));
  const results = children.map(({ stdout }) => text(stdout));
  for (const { stdin } of children) stdin.write("go\n");
  return (await Promise.all(results)).map((result) => JSON.parse(result) as T);
}

describe("the SQLite store keeps every promise of a store", () => {
  for (const { name: promise, check } of storeContract) {
    test(promise, async () => {
      const store = createSqliteStore({ path: newPath() });
      try {
        await check(store);
      } finally {
        await store.close();
      }
    });
  }
});

describe("several processes on one file", () => {
  test("8 of them, a Free account, one minute: exactly 60 are admitted", async () => {
    const path = newPath();
    const store = createSqliteStore({ path });
    await store.accounts.create(shop);
    const told = (
      await inProcesses<string[]>(path, new Array(8).fill(["admit", "shop", KEY.hash, 20, AT]))
    ).flat();
    expect(told).toHaveLength(160);
    expect(told.filter((outcome) => outcome === "admitted")).toHaveLength(60);
    expect(told.filter((outcome) => outcome === "rate_limit_exceeded")).toHaveLength(20);
    expect((await store.accounts.find("shop"))?.usage.minute.count).toBe(60);
    await store.close();
  });

  test("1,000 orders, cancel and ship racing from 4 processes: one state each, and just the winners were told so", async () => {
    const path = newPath();
    const store = createSqliteStore({ path });
    await store.orders.place(
      Array.from({ length: 1_000 }, (_, id) => ({ record: { id: BigInt(id) }, status: "pending" })),
    );
    const races = await inProcesses<{ event: string; won: number[]; told: Record<string, string> }>(
      path,
      ["cancel", "ship", "cancel", "ship"].map((event) => ["race", event, 1_000, AT]),
    );
    const winners = races.flatMap(({ event, won }) => won.map((id) => [id, event] as const));
    expect(winners.map(([id]) => id).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 1_000 }, (_, id) => id),
    );
    expect(new Set(winners.map(([, event]) => event)).size, "both events won some").toBe(2);
    const state = new Map(winners.map(([id, event]) => [id, event === "cancel" ? "cancelled" : "shipped"]));
    for (const [id, status] of state) expect((await store.orders.find(BigInt(id)))?.status).toBe(status);
    for (const { told } of races)
      for (const [id, status] of Object.entries(told)) expect(status).toBe(state.get(Number(id)));
    await store.close();
  });

  test("an account is seen before or after a change of another one, and never between", async () => {
    const path = newPath();
    const store = createSqliteStore({ path });
    await store.accounts.create(shop);
    let isOver = false;
    const changing = inProcesses(path, [["change", "shop", 500]]).finally(() => {
      isOver = true;
    });
    const torn: unknown[] = [];
    while (!isOver) {
      const seen = await store.accounts.find("shop");
      if (seen?.customLimits?.perMinute !== seen?.keys[0]?.expiresAt) torn.push(seen);
      await setImmediate();
    }
    expect(await changing).toEqual(["changed"]);
    expect(torn).toEqual([]);
    await store.close();
  });

  test("all of them may open a database that is not there yet", async () => {
    const path = newPath();
    expect(await inProcesses(path, new Array(8).fill(["open"]))).toEqual(new Array(8).fill("opened"));
  });
});

describe("a database file", () => {
  test("keeps orders, counters, refusals and bans over a restart", async () => {
    const path = newPath();
    const before = createSqliteStore({ path });
    await before.accounts.create(shop);
    await before.orders.place([{ record: { id: 1n }, status: "pending" }]);
    await before.orders.apply(1n, "cancel", AT);
    for (let call = 0; call < 81; call++) await before.accounts.admit(presented, AT);
    const account = await before.accounts.find("shop");
    await before.close();

    const after = createSqliteStore({ path });
    expect(await after.accounts.find("shop")).toEqual(account);
    expect((await after.orders.find(1n))?.status).toBe("cancelled");
    expect(await after.accounts.admit(presented, AT + MINUTE_MS)).toMatchObject({ code: "api_key_banned" });
    await after.close();
  });

  test("is made with its folders, and nobody but its owner may read it", async () => {
    const path = join(folder, "new", "folder", "orders.db");
    const store = createSqliteStore({ path });
    await store.accounts.create(shop);
    for (const suffix of ["", "-wal", "-shm"]) expect(statSync(path + suffix).mode & 0o077, suffix).toBe(0);
    await store.close();
  });

  test("of a newer version is refused, and not touched", async () => {
    const path = newPath();
    await createSqliteStore({ path }).close();
    const raw = new DatabaseSync(path);
    raw.exec("PRAGMA user_version = 99; PRAGMA journal_mode = DELETE");
    raw.close();
    const before = readFileSync(path);
    expect(() => createSqliteStore({ path })).toThrow(NewerSchemaError);
    expect(() => createSqliteStore({ path })).toThrow(
      `The database has schema version 99; this program knows up to ${SCHEMA_VERSION}.`,
    );
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  test("of another program is refused, and not touched", () => {
    const path = newPath();
    const raw = new DatabaseSync(path);
    raw.exec("CREATE TABLE notes (text)");
    raw.close();
    const before = readFileSync(path);
    expect(() => createSqliteStore({ path })).toThrow("The file is a database of another program.");
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  test("that is no database, or cannot be opened, is a store that cannot be reached", () => {
    const path = newPath();
    writeFileSync(path, "this is not a database, it is a letter to a friend".repeat(100));
    expect(() => createSqliteStore({ path })).toThrow(StoreUnavailableError);
    expect(() => createSqliteStore({ path: folder })).toThrow(StoreUnavailableError);
  });

  test("waits for the disk when orders, accounts or keys change, and not for a counter", async () => {
    const { db, write, close } = openConnection(newPath());
    const synchronous = db.prepare("PRAGMA synchronous");
    const seen = [];
    for (const durability of ["durable", "relaxed", "durable"] as const) {
      seen.push(await write(durability, () => synchronous.get()?.["synchronous"]));
    }
    expect(seen).toEqual([2, 1, 2]);
    expect(db.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
    const together = [write("relaxed", () => synchronous.get()), write("durable", () => synchronous.get())];
    expect(await Promise.all(together)).toEqual([{ synchronous: 2 }, { synchronous: 2 }]);
    await close();
  });
});

test("a call waits for a process that holds the database, without stopping the event loop, and goes on", async () => {
  const path = newPath();
  const store = createSqliteStore({ path });
  await store.accounts.create(shop);
  const other = new DatabaseSync(path);
  other.exec("BEGIN IMMEDIATE");
  const admission = store.accounts.admit(presented, AT);
  await new Promise((resolve) => setTimeout(resolve, 50));
  other.exec("COMMIT");
  other.close();
  expect(await admission).toMatchObject({ ok: true });
  await store.close();
});

test("a log that is written to for long stays bounded", async () => {
  const path = newPath();
  const store = createSqliteStore({ path });
  await store.accounts.create({ ...shop, plan: "business" });
  for (let round = 0; round < 3_000; round++) await store.accounts.admit(presented, AT + round * MINUTE_MS);
  expect(statSync(`${path}-wal`).size).toBeLessThan(8 * 1024 * 1024);
  await store.close();
});
