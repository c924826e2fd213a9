import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { withRejectionCache } from "../../lib/accounts/rejection-cache.ts";
import { StoreUnavailableError } from "../../lib/core/errors.ts";
import { accountQueries, createAccountStore } from "../../lib/stores/sqlite/accounts.ts";
import { admissionQueries } from "../../lib/stores/sqlite/admission.ts";
import { openDatabase } from "../../lib/stores/sqlite/database.ts";
import { createSqliteStore } from "../../lib/stores/sqlite/index.ts";
import { createOrderStore, orderQueries } from "../../lib/stores/sqlite/orders.ts";
import { SCHEMA_VERSION } from "../../lib/stores/sqlite/schema.ts";
import type { Store } from "../../lib/stores/store.ts";
import { createHandlerFixture } from "../http/fixture.ts";
import { skipsBecause } from "../support/skip-reason.ts";
import { expectUnavailable } from "./requester.ts";
import { fillStore, NOW } from "./service.ts";

const folder = mkdtempSync(join(tmpdir(), "store-orders-"));
afterAll(() => rmSync(folder, { recursive: true }));
let databases = 0;
const newPath = () => join(folder, `${databases++}.db`);

/** A store that exposes its connection, so that a test can make SQLite reject statements. */
function openStore(path: string) {
  const opened: DatabaseSync[] = [];
  const database = openDatabase(
    path,
    (db) => {
      opened.push(db);
      return {
        orders: orderQueries(db),
        accounts: accountQueries(db),
        admission: admissionQueries(db),
      };
    },
    { existing: false },
  );
  const [db] = opened as [DatabaseSync];
  const { check, close } = database;
  return { db, orders: createOrderStore(database), accounts: createAccountStore(database), check, close };
}

const KEY = { accountId: "shop", hash: "1".repeat(64) };
const SHOP = {
  id: "shop",
  plan: "free",
  keys: [{ id: "shop.1", hash: KEY.hash, createdAt: NOW }],
} as const;

describe("a write that SQLite rejects", () => {
  test("because the database is read-only causes a 503 and changes nothing, and succeeds once it is writable", async () => {
    const store = openStore(newPath());
    const { send } = await createHandlerFixture({ store });
    store.db.exec("PRAGMA query_only = ON");
    for (const [method, path] of [
      ["DELETE", "/v1/store/orders/1"],
      ["GET", "/v1/store/orders"],
    ] as const) {
      expectUnavailable({ ...(await send(method, path)), complete: true });
    }
    await expect(store.check()).rejects.toBeInstanceOf(StoreUnavailableError);
    store.db.exec("PRAGMA query_only = OFF");
    await store.check();
    expect((await store.orders.find(1n))?.status).toBe("pending");
    expect((await send("DELETE", "/v1/store/orders/1")).status).toBe(204);
    expect((await store.accounts.find("shop"))?.usage.minute.count).toBe(1);
    await store.close();
  });

  test("because the database is full places no order of a batch, and places all of them later", async () => {
    const store = openStore(newPath());
    const orders = Array.from({ length: 5_000 }, (_, id) => ({
      record: { id: BigInt(id) },
      status: "pending" as const,
    }));
    store.db.exec("PRAGMA max_page_count = 20");
    await expect(store.orders.place(orders)).rejects.toBeInstanceOf(StoreUnavailableError);
    expect(await store.orders.find(0n)).toBeUndefined();
    store.db.exec("PRAGMA max_page_count = 4294967294");
    expect(new Set(await store.orders.place(orders))).toEqual(new Set(["placed"]));
    await store.close();
  });
});

describe("an unusable database file", () => {
  test("that is truncated or lacks a table makes the store unavailable and is left unchanged", async () => {
    const [truncated, withoutTable] = [newPath(), newPath()];
    await fillStore({ kind: "sqlite", path: truncated }, 2_000);
    truncateSync(truncated, 3 * 4096);
    await fillStore({ kind: "sqlite", path: withoutTable }, 1);
    const db = new DatabaseSync(withoutTable);
    db.exec("DROP TABLE orders; PRAGMA journal_mode = DELETE; VACUUM; PRAGMA journal_mode = WAL");
    db.close();
    for (const path of [truncated, withoutTable]) {
      const before = readFileSync(path);
      expect(() => createSqliteStore({ path })).toThrow(StoreUnavailableError);
      expect(readFileSync(path).equals(before)).toBe(true);
    }
  });

  const otherUser = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  const bin = fileURLToPath(new URL("../../lib/cli/bin.ts", import.meta.url));
  const run = (args: readonly string[]) =>
    spawnSync(process.execPath, [bin, ...args], {
      ...otherUser,
      cwd: "/",
      encoding: "utf8",
      env: { HOME: "/" },
    });
  const reason = run(["--help"]).status === 0 ? undefined : "no other user can read the sources here";

  test.skipIf(skipsBecause("a database without write permission", reason))(
    "without write permission for the file or its directory makes the store unavailable",
    async () => {
      const path = newPath();
      await fillStore({ kind: "sqlite", path }, 1);
      const before = readFileSync(path);
      chmodSync(folder, 0o755);
      for (const mode of [0o444, 0o666, 0o000]) {
        chmodSync(path, mode);
        if (otherUser.uid === undefined) chmodSync(folder, 0o555);
        const { status, stderr } = run(["serve", "--port", "0", "--database", path]);
        chmodSync(folder, 0o755);
        expect({ mode, status }).toEqual({ mode, status: 3 });
        expect(stderr).not.toMatch(/^\s+at /m);
      }
      chmodSync(path, 0o600);
      expect(readFileSync(path).equals(before)).toBe(true);
    },
  );
});

test("a log that is deleted while two connections use it is saved by the last one, and neither creates a new log before", async () => {
  const path = newPath();
  await fillStore({ kind: "sqlite", path }, 4);
  const [one, other] = [createSqliteStore({ path }), createSqliteStore({ path })];
  const cancel = (store: Store, id: bigint) =>
    store.orders.apply(id, "cancel", NOW).then(
      (result) => result?.ok,
      (error: unknown) => error instanceof StoreUnavailableError && "unavailable",
    );
  expect([await cancel(one, 0n), await cancel(other, 1n)]).toEqual([true, true]);
  rmSync(`${path}-wal`);
  for (let time = 0; time < 3; time++) expect(await cancel(one, 2n)).toBe("unavailable");
  expect(await cancel(other, 3n)).toBe("unavailable");
  expect([await cancel(other, 3n), await cancel(one, 2n)]).toEqual([true, true]);
  for (const id of [0n, 1n, 2n, 3n]) {
    for (const store of [one, other]) expect((await store.orders.find(id))?.status).toBe("cancelled");
  }
  await one.close();
  await other.close();
  const db = new DatabaseSync(path);
  expect(db.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
  db.close();
});

test("each rejection counts exactly once towards the ban, however often the store fails in between", async () => {
  const path = newPath();
  const store = createSqliteStore({ path });
  await store.accounts.create(SHOP);
  const cached = withRejectionCache(store.accounts);
  const other = new DatabaseSync(path);
  for (let request = 0; request < 60; request++) await cached.admit(KEY, NOW);

  let rejected = 0;
  for (let at = NOW; ; at += 300) {
    const failing = (at / 300) % 3 === 0;
    if (failing) other.exec("PRAGMA user_version = 99");
    const result = await cached.admit(KEY, at).catch((error: unknown) => error);
    other.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`);
    if (result instanceof StoreUnavailableError) continue;
    if ((result as { code?: string }).code === "api_key_banned") break;
    expect(result).toMatchObject({ code: "rate_limit_exceeded" });
    rejected++;
  }
  expect(rejected).toBe(20);
  other.close();
  await store.close();
});

test("calls that are in progress when the store is closed succeed, and later calls fail as unavailable", async () => {
  const path = newPath();
  const store = createSqliteStore({ path });
  await store.accounts.create(SHOP);
  const lock = new DatabaseSync(path);
  lock.exec("BEGIN IMMEDIATE");
  const inFlight = [
    store.accounts.admit(KEY, NOW),
    store.orders.place([{ record: { id: 1n }, status: "pending" }]),
  ];
  const closed = store.close();
  lock.exec("COMMIT");
  lock.close();
  expect(await Promise.all(inFlight)).toEqual([expect.objectContaining({ ok: true }), ["placed"]]);
  await closed;
  await store.close();

  const after = await Promise.allSettled([
    store.accounts.admit(KEY, NOW),
    store.orders.find(1n),
    store.orders.list()[Symbol.asyncIterator]().next(),
  ]);
  for (const call of after) expect(call).toMatchObject({ reason: expect.any(StoreUnavailableError) });
});
