import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { CALL_TIMEOUT_MS } from "../../lib/core/time.ts";
import { SCHEMA_VERSION } from "../../lib/stores/sqlite/schema.ts";
import { skipsBecause } from "../support/skip-reason.ts";
import { expectUnavailable, LIST, orderAt, retryWhileUnavailable } from "./requester.ts";
import { reportFigures } from "./run.ts";
import { limitFiles, reasonToSkip } from "./sqlite/disk-limit.ts";
import { type ServedDatabase, serveDatabase } from "./sqlite/fixture.ts";
import { holdLock } from "./sqlite/lock.ts";

const cancel = (service: ServedDatabase, id: number) => service.send("DELETE", orderAt(id));
const usage = (service: ServedDatabase) =>
  service.inspect(async ({ accounts }) => (await accounts.find("shop"))?.usage.minute.count);
const statusOf = (service: ServedDatabase, id: number) =>
  service.inspect(async ({ orders }) => (await orders.find(BigInt(id)))?.status);

describe.concurrent("a database that another process locks", () => {
  test("a lock that lasts a moment delays only the requests that need the store", async () => {
    await using service = await serveDatabase(10);
    const lock = holdLock(service.path);
    const waiting = cancel(service, 1);
    expect((await service.send("GET", "/openapi.json")).status).toBe(200);
    lock.release();
    expect((await waiting).status).toBe(204);
    expect(await usage(service)).toBe(1);
  });

  test("a lock that lasts longer than the timeout causes a 503 that changes and counts nothing; afterwards the database is served again", async () => {
    await using service = await serveDatabase(10);
    const lock = holdLock(service.path);
    const expectTimeout = async (id: number) => {
      const startedAt = performance.now();
      expectUnavailable(await cancel(service, id));
      return performance.now() - startedAt;
    };
    const first = expectTimeout(1);
    await service.send("GET", "/openapi.json");
    const waited = await Promise.all([first, expectTimeout(2), expectTimeout(3)]);
    lock.release();
    expect((await cancel(service, 1)).status).toBe(204);
    // Requests that arrive while others wait do not wait longer than those.
    for (const time of waited) expect(time).toBeGreaterThanOrEqual(CALL_TIMEOUT_MS);
    for (const time of waited) expect(time).toBeLessThan(9_000);
    expect(await usage(service)).toBe(1);
    reportFigures("faults of a SQLite file", {
      "503 after a lock that is never released": `${Math.round(Math.max(...waited))} ms`,
    });
  });
});

describe.concurrent("a full disk", () => {
  test.skipIf(skipsBecause("a full disk", reasonToSkip()))(
    "causes a 503 for every request and loses no acknowledged cancel",
    async () => {
      await using service = await serveDatabase(10);
      expect((await cancel(service, 1)).status).toBe(204);
      limitFiles(service.process.pid, statSync(`${service.path}-wal`).size);
      for (let id = 2; id < 6; id++) expectUnavailable(await cancel(service, id));
      expectUnavailable(await service.send("GET", LIST));
      expect((await service.send("GET", "/readyz")).status).toBe(503);
      limitFiles(service.process.pid, "unlimited");
      expect((await retryWhileUnavailable(() => cancel(service, 2))).status).toBe(204);
      expect(await usage(service)).toBe(2);
      expect([await statusOf(service, 1), await statusOf(service, 3)]).toEqual(["cancelled", "pending"]);
    },
  );
});

describe.concurrent("a file that is damaged while it is served", () => {
  test("a file that is damaged while it is served never results in a list that looks complete, and is served again when it is repaired", async () => {
    // Larger than the cache of a connection, so that the damage is read.
    const orders = 60_000;
    await using service = await serveDatabase(orders);
    const intact = readFileSync(service.path);
    const from = Math.floor(intact.length * 0.7);
    await overwrite(service.path, from, Buffer.alloc(200_000, 0xa5));
    for (let time = 0; time < 3; time++) {
      // Pages are read on demand, so those before the damage have been sent already.
      const { status, complete, text } = await service.send("GET", LIST);
      expect({ status, complete }).toEqual({ status: 200, complete: false });
      expect(text).not.toMatch(/\]$/);
    }
    await overwrite(service.path, from, intact.subarray(from, from + 200_000));
    const { status, complete, text } = await service.send("GET", LIST);
    expect({ status, complete }).toEqual({ status: 200, complete: true });
    expect(JSON.parse(text)).toHaveLength(orders);
  });
});

describe.concurrent("a schema that a newer version changes while the database is served", () => {
  test("causes a 503 without a change of the database, until the known schema is restored", async () => {
    await using service = await serveDatabase(10);
    expect((await cancel(service, 1)).status).toBe(204);
    service.executeOutside("PRAGMA user_version = 99; ALTER TABLE orders RENAME COLUMN record TO wire");
    expectUnavailable(await cancel(service, 2));
    expectUnavailable(await service.send("GET", LIST));
    service.executeOutside(
      `PRAGMA user_version = ${SCHEMA_VERSION}; ALTER TABLE orders RENAME COLUMN wire TO record`,
    );
    expect((await retryWhileUnavailable(() => cancel(service, 2))).status).toBe(204);
    expect(await usage(service)).toBe(2);
  });
});

describe.concurrent("a database file that is served", () => {
  test("a file that is moved acknowledges no cancel that would be lost, and is served again when it is back", async () => {
    await using service = await serveDatabase(10);
    expect((await cancel(service, 1)).status).toBe(204);
    renameSync(service.path, `${service.path}.away`);
    for (let id = 2; id < 6; id++) expectUnavailable(await cancel(service, id));
    expect(existsSync(service.path), "no new file is created").toBe(false);
    renameSync(`${service.path}.away`, service.path);
    expect((await retryWhileUnavailable(() => cancel(service, 2))).status).toBe(204);
    expect([await statusOf(service, 1), await statusOf(service, 2)]).toEqual(["cancelled", "cancelled"]);
    expect(await statusOf(service, 3)).toBe("pending");
  });

  test("a file that is replaced is not mixed with the log of the old file, and is served once that log is deleted", async () => {
    await using service = await serveDatabase(10);
    copyFileSync(service.path, `${service.path}.backup`);
    expect((await cancel(service, 1)).status).toBe(204);
    renameSync(`${service.path}.backup`, service.path);
    for (let time = 0; time < 3; time++) expectUnavailable(await cancel(service, 1));
    for (const suffix of ["-wal", "-shm"]) rmSync(service.path + suffix);
    // In the backup the order is still pending.
    expect((await retryWhileUnavailable(() => cancel(service, 1))).status).toBe(204);
    expect(await statusOf(service, 1)).toBe("cancelled");
  });

  test("a file that is replaced by an empty file or another program's database is neither served nor changed", async () => {
    await using service = await serveDatabase(10);
    await using other = await serveDatabase(1);
    for (const suffix of ["", "-wal", "-shm"]) rmSync(service.path + suffix);
    await overwrite(service.path, 0, Buffer.alloc(0), "w");
    for (let time = 0; time < 3; time++) expectUnavailable(await cancel(service, 1));
    expect(statSync(service.path).size).toBe(0);
    other.executeOutside("PRAGMA application_id = 1; PRAGMA wal_checkpoint(TRUNCATE)");
    copyFileSync(other.path, service.path);
    for (let time = 0; time < 3; time++) expectUnavailable(await cancel(service, 1));
  });

  test("loses no acknowledged cancel if only its log is deleted", async () => {
    await using service = await serveDatabase(10);
    expect((await cancel(service, 1)).status).toBe(204);
    rmSync(`${service.path}-wal`);
    expect((await retryWhileUnavailable(() => cancel(service, 2))).status).toBe(204);
    expect([await statusOf(service, 1), await statusOf(service, 2)]).toEqual(["cancelled", "cancelled"]);
  });
});

async function overwrite(path: string, position: number, bytes: Uint8Array, flags = "r+"): Promise<void> {
  const file = await open(path, flags);
  await file.write(bytes, 0, bytes.length, position);
  await file.close();
}
