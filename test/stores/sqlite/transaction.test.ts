import { renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import type { AdmittedWork } from "../../../lib/accounts/account-store.ts";
import { DEFAULT_BAN_POLICY } from "../../../lib/accounts/admission.ts";
import { openConnection } from "../../../lib/stores/sqlite/connection.ts";
import { databaseFile } from "../../../lib/stores/sqlite/file.ts";
import { createSqliteStore } from "../../../lib/stores/sqlite/index.ts";
import { createHandlerFixture } from "../../http/fixture.ts";
import { ACCOUNT, AT, PRESENTED, temporaryDirectory } from "./fixture.ts";

const { directory, newPath } = temporaryDirectory();

test("a cancel is committed in the transaction that admits it", async () => {
  const path = newPath();
  const store = createSqliteStore({ path });
  await store.accounts.create(ACCOUNT);
  await store.orders.place([{ record: { id: 1n }, status: "pending" }]);
  let applied: Promise<unknown> | undefined;
  const start = () => {
    applied = store.orders.apply(1n, "cancel", AT);
  };
  await store.accounts.admit(PRESENTED, AT, DEFAULT_BAN_POLICY, { durable: true, start });
  // A second transaction would have to wait for this lock.
  const other = new DatabaseSync(path);
  other.exec("BEGIN IMMEDIATE");
  expect(other.prepare("SELECT status FROM orders").get()).toEqual({ status: "cancelled" });
  expect(await Promise.race([applied, sleep(500)])).toMatchObject({ ok: true });
  other.close();
  await store.close();
});

test("the service reads a short list and cancels in the transaction that admits the request", async () => {
  const path = newPath();
  const store = createSqliteStore({ path });
  const { accounts, orders } = store;
  const started: string[] = [];
  const { send } = await createHandlerFixture({
    store: {
      ...store,
      accounts: {
        ...accounts,
        async admit(key, at, policy, work) {
          const admission = await accounts.admit(key, at, policy, work && { ...work, start: trace(work) });
          started.push("admitted");
          return admission;
        },
      },
      orders,
    },
  });
  const trace =
    ({ durable, start }: AdmittedWork): AdmittedWork["start"] =>
    (caller) => {
      started.push(durable ? "durable work" : "work");
      start(caller);
    };
  expect((await send("GET", "/v1/store/orders")).status).toBe(200);
  expect((await send("DELETE", "/v1/store/orders/1")).status).toBe(204);
  expect((await send("DELETE", "/v1/store/orders/1")).status).toBe(409);
  expect((await send("GET", "/v1/pets/1")).status).toBe(404);
  const cancel = ["durable work", "admitted"];
  expect(started).toEqual(["work", "admitted", ...cancel, ...cancel, "admitted"]);
  await store.close();
});

test("nothing waits between the admission of a request and its cancel, so that they share a transaction", async () => {
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
          const admission = await store.accounts.admit(...args);
          // A transaction of its own would begin in a later turn of the event loop.
          statuses.push(other.prepare("SELECT status FROM orders WHERE id = 1").get());
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

test("a write that joins a transaction is rolled back with it, and a durable one joins no relaxed transaction", async () => {
  const { db, write, close } = openConnection(newPath());
  db.exec("CREATE TABLE notes (id INTEGER PRIMARY KEY)");
  const insert = db.prepare("INSERT INTO notes VALUES (?)");
  let joined: Promise<unknown> | undefined;
  const failed = write("durable", () => {
    insert.run(1);
    joined = write("durable", () => insert.run(1));
    joined.catch(() => {});
  });
  await expect(failed).rejects.toThrow("UNIQUE");
  await expect(joined).rejects.toThrow("UNIQUE");
  expect(db.prepare("SELECT count(*) AS count FROM notes").get()).toEqual({ count: 0 });
  let later: Promise<unknown> | undefined;
  await write("relaxed", () => {
    later = write("durable", () => db.prepare("PRAGMA synchronous").get());
  });
  expect(await later).toEqual({ synchronous: 2 });
  await close();
});

test.runIf(process.platform === "linux")(
  "a folder shows each change of its entries, also behind a link",
  async () => {
    const path = newPath();
    writeFileSync(path, "");
    const link = join(directory, "link.db");
    symlinkSync(path, link);
    const file = databaseFile(link);
    expect(file.isFolderUnchanged()).toBe(false);
    await sleep(50);
    file.check();
    expect(file.isFolderUnchanged()).toBe(true);
    renameSync(path, `${path}.moved`);
    expect(file.isFolderUnchanged()).toBe(false);
    await sleep(50);
    expect(file.isFolderUnchanged()).toBe(false);
    renameSync(`${path}.moved`, path);
    file.check();
    // Too recent to tell a further change within the same tick of the clock.
    expect(file.isFolderUnchanged()).toBe(false);
  },
);

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
