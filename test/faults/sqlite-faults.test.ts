import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { SCHEMA_VERSION } from "../../lib/stores/sqlite/schema.ts";
import { expectUnavailable, LIST, orderAt, untilServed } from "./requester.ts";
import { tell } from "./run.ts";
import { limitFiles, noLimitBecause } from "./sqlite/disk-limit.ts";
import { type ServedShop, servedShop } from "./sqlite/fixture.ts";
import { holdLock } from "./sqlite/lock.ts";

const cancel = (shop: ServedShop, id: number) => shop.ask("DELETE", orderAt(id));
const usage = (shop: ServedShop) =>
  shop.inspect(async ({ accounts }) => (await accounts.find("shop"))?.usage.minute.count);
const statusOf = (shop: ServedShop, id: number) =>
  shop.inspect(async ({ orders }) => (await orders.find(BigInt(id)))?.status);

describe.concurrent("a database that another process locks", () => {
  test("for a moment delays only the requests that need the store", async () => {
    await using shop = await servedShop(10);
    const lock = holdLock(shop.path);
    const waiting = cancel(shop, 1);
    expect((await shop.ask("GET", "/openapi.json")).status).toBe(200);
    lock.release();
    expect((await waiting).status).toBe(204);
    expect(await usage(shop)).toBe(1);
  });

  test("for longer than the timeout causes a 503 that changes and counts nothing, and is served again afterwards", async () => {
    await using shop = await servedShop(10);
    const lock = holdLock(shop.path);
    const refused = async (id: number) => {
      const began = performance.now();
      expectUnavailable(await cancel(shop, id));
      return performance.now() - began;
    };
    const first = refused(1);
    await shop.ask("GET", "/openapi.json");
    const waited = await Promise.all([first, refused(2), refused(3)]);
    lock.release();
    expect((await cancel(shop, 1)).status).toBe(204);
    // Who comes while others wait waits no longer than they do.
    for (const time of waited) expect(time).toBeGreaterThanOrEqual(5_000);
    for (const time of waited) expect(time).toBeLessThan(9_000);
    expect(await usage(shop)).toBe(1);
    tell("faults of a SQLite file", {
      "503 after a lock that is held for good": `${Math.round(Math.max(...waited))} ms`,
    });
  });
});

describe.concurrent("a full disk", () => {
  const missing = noLimitBecause();
  if (missing !== undefined) process.stderr.write(`a full disk: skipped, ${missing}\n`);
  test.skipIf(missing !== undefined)(
    "causes a 503 for every request and loses no acknowledged cancel",
    async () => {
      await using shop = await servedShop(10);
      expect((await cancel(shop, 1)).status).toBe(204);
      limitFiles(shop.process.pid, statSync(`${shop.path}-wal`).size);
      for (let id = 2; id < 6; id++) expectUnavailable(await cancel(shop, id));
      expectUnavailable(await shop.ask("GET", LIST));
      limitFiles(shop.process.pid, "unlimited");
      expect((await untilServed(() => cancel(shop, 2))).status).toBe(204);
      expect(await usage(shop)).toBe(2);
      expect([await statusOf(shop, 1), await statusOf(shop, 3)]).toEqual(["cancelled", "pending"]);
    },
  );
});

describe.concurrent("a file that is damaged while it is served", () => {
  test("never results in a list that looks complete, and is served again when it is repaired", async () => {
    // Larger than what a connection keeps in memory, so that the damage is met.
    const orders = 60_000;
    await using shop = await servedShop(orders);
    const mended = readFileSync(shop.path);
    const from = Math.floor(mended.length * 0.7);
    await overwrite(shop.path, from, Buffer.alloc(200_000, 0xa5));
    for (let time = 0; time < 3; time++) {
      // What comes before the damage is read as it is asked for, and sent before the damage is met.
      const { status, whole, text } = await shop.ask("GET", LIST);
      expect({ status, whole }).toEqual({ status: 200, whole: false });
      expect(text).not.toMatch(/\]$/);
    }
    await overwrite(shop.path, from, mended.subarray(from, from + 200_000));
    const { status, whole, text } = await shop.ask("GET", LIST);
    expect({ status, whole }).toEqual({ status: 200, whole: true });
    expect(JSON.parse(text)).toHaveLength(orders);
  });
});

describe.concurrent("a schema that a newer version changes while the database is served", () => {
  test("causes a 503 without a change of the database, until the known schema is restored", async () => {
    await using shop = await servedShop(10);
    expect((await cancel(shop, 1)).status).toBe(204);
    shop.outside("PRAGMA user_version = 99; ALTER TABLE orders RENAME COLUMN record TO wire");
    expectUnavailable(await cancel(shop, 2));
    expectUnavailable(await shop.ask("GET", LIST));
    shop.outside(`PRAGMA user_version = ${SCHEMA_VERSION}; ALTER TABLE orders RENAME COLUMN wire TO record`);
    expect((await untilServed(() => cancel(shop, 2))).status).toBe(204);
    expect(await usage(shop)).toBe(2);
  });
});

describe.concurrent("a database file that is served", () => {
  test("and moved acknowledges no cancel that would be lost, and is served again when it is back", async () => {
    await using shop = await servedShop(10);
    expect((await cancel(shop, 1)).status).toBe(204);
    renameSync(shop.path, `${shop.path}.away`);
    for (let id = 2; id < 6; id++) expectUnavailable(await cancel(shop, id));
    expect(existsSync(shop.path), "none is made in its place").toBe(false);
    renameSync(`${shop.path}.away`, shop.path);
    expect((await untilServed(() => cancel(shop, 2))).status).toBe(204);
    expect([await statusOf(shop, 1), await statusOf(shop, 2)]).toEqual(["cancelled", "cancelled"]);
    expect(await statusOf(shop, 3)).toBe("pending");
  });

  test("and replaced is not mixed with the log of the old file, and is served once that log is deleted", async () => {
    await using shop = await servedShop(10);
    copyFileSync(shop.path, `${shop.path}.backup`);
    expect((await cancel(shop, 1)).status).toBe(204);
    renameSync(`${shop.path}.backup`, shop.path);
    for (let time = 0; time < 3; time++) expectUnavailable(await cancel(shop, 1));
    for (const suffix of ["-wal", "-shm"]) rmSync(shop.path + suffix);
    // In the backup the order is pending still.
    expect((await untilServed(() => cancel(shop, 1))).status).toBe(204);
    expect(await statusOf(shop, 1)).toBe("cancelled");
  });

  test("and replaced by an empty file or another program's database is neither served nor changed", async () => {
    await using shop = await servedShop(10);
    await using other = await servedShop(1);
    for (const suffix of ["", "-wal", "-shm"]) rmSync(shop.path + suffix);
    await overwrite(shop.path, 0, Buffer.alloc(0), "w");
    for (let time = 0; time < 3; time++) expectUnavailable(await cancel(shop, 1));
    expect(statSync(shop.path).size).toBe(0);
    other.outside("PRAGMA application_id = 1; PRAGMA wal_checkpoint(TRUNCATE)");
    copyFileSync(other.path, shop.path);
    for (let time = 0; time < 3; time++) expectUnavailable(await cancel(shop, 1));
  });

  test("loses no acknowledged cancel if only its log is deleted", async () => {
    await using shop = await servedShop(10);
    expect((await cancel(shop, 1)).status).toBe(204);
    rmSync(`${shop.path}-wal`);
    expect((await untilServed(() => cancel(shop, 2))).status).toBe(204);
    expect([await statusOf(shop, 1), await statusOf(shop, 2)]).toEqual(["cancelled", "cancelled"]);
  });
});

async function overwrite(path: string, position: number, bytes: Uint8Array, flags = "r+"): Promise<void> {
  const file = await open(path, flags);
  await file.write(bytes, 0, bytes.length, position);
  await file.close();
}
