import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Pool } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseKey } from "../../lib/accounts/hash-key.ts";
import { StoreUnavailableError } from "../../lib/core/errors.ts";
import { createPostgresStore } from "../../lib/stores/postgres/index.ts";
import { MAX_STORE_CALL_MS } from "../../lib/stores/store.ts";
import {
  type PostgresServer,
  skipsWithoutPostgres,
  startPostgres,
  unprivilegedUser,
} from "../support/postgres/server.ts";
import { skipsBecause } from "../support/skip-reason.ts";
import { type ServedPostgres, servePostgres } from "./postgres/fixture.ts";
import { expectUnavailable, LIST, orderAt, retryWhileUnavailable } from "./requester.ts";
import { reportFigures } from "./run.ts";

/** What a response may take beyond the time of a call, on a machine that is busy. */
const MAX_DELAY_MS = 1_500;

const cancel = (service: ServedPostgres, id: number) => service.send("DELETE", orderAt(id));
const counted = async ({ store }: ServedPostgres) => (await store.accounts.find("shop"))?.usage.minute.count;
const statusOf = async ({ store }: ServedPostgres, id: number) =>
  (await store.orders.find(BigInt(id)))?.status;

/** Expects a 503 within the time of a call, and returns how long it took. */
async function expectUnavailableInTime(response: ReturnType<typeof cancel>): Promise<number> {
  const startedAt = performance.now();
  expectUnavailable(await response);
  const elapsed = Math.round(performance.now() - startedAt);
  expect(elapsed).toBeLessThan(MAX_STORE_CALL_MS + MAX_DELAY_MS);
  return elapsed;
}

/** Expects the service to cancel the order by itself once the fault has ended. */
async function expectServed(service: ServedPostgres, id: number): Promise<void> {
  expect((await retryWhileUnavailable(() => cancel(service, id))).status).toBe(204);
  expect(await statusOf(service, id)).toBe("cancelled");
  await service.asRole.check();
}

describe.skipIf(skipsWithoutPostgres("faults of PostgreSQL"))("a service on PostgreSQL", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.remove());

  describe.concurrent("while another session holds a lock", () => {
    /** Resolves once the lock is held. `ended` resolves when it is released. */
    const holdLock = async (service: ServedPostgres, statement: string, seconds: number) => {
      const ended = service.sql(`BEGIN; ${statement}; SELECT pg_sleep(${seconds}); COMMIT`);
      const isHeld = `SELECT count(*) FROM pg_stat_activity WHERE datname = '${service.database}' AND wait_event = 'PgSleep'`;
      while ((await server.sql(isHeld)) === "0") await sleep(10);
      return { ended };
    };
    const onAccount = "SELECT FROM store_orders.accounts WHERE id = 'shop' FOR UPDATE";

    test("a lock of an account that lasts a moment delays its requests", async () => {
      await using service = await servePostgres(server, 10);
      const held = await holdLock(service, onAccount, 1);
      expect((await cancel(service, 1)).status).toBe(204);
      await held.ended;
      expect(await counted(service)).toBe(1);
    });

    test("a lock of an account that lasts longer than a call causes a 503 that changes and counts nothing", async () => {
      await using service = await servePostgres(server, 10);
      expect((await cancel(service, 0)).status).toBe(204);
      const held = await holdLock(service, onAccount, 8);
      const waited = await Promise.all([1, 2, 3].map((id) => expectUnavailableInTime(cancel(service, id))));
      await held.ended;
      expect([await counted(service), await statusOf(service, 1)]).toEqual([1, "pending"]);
      await expectServed(service, 1);
      expect(await counted(service)).toBe(2);
      reportFigures("faults of PostgreSQL", {
        "503 while an account is locked": `${Math.max(...waited)} ms`,
      });
    });

    test("a lock of an account delays the requests of no other account", async () => {
      await using service = await servePostgres(server, 10);
      const { store, asRole } = service;
      const key = (accountId: string) => ({
        id: `${accountId}.1`,
        hash: accountId.padEnd(64, "0"),
        createdAt: 0,
      });
      for (const id of ["locked", "other"])
        await store.accounts.create({ id, plan: "free", keys: [key(id)] });
      const admit = (accountId: string) =>
        asRole.accounts.admit({ accountId, hash: key(accountId).hash }, Date.now());
      await admit("other");
      const held = await holdLock(
        service,
        "SELECT FROM store_orders.accounts WHERE id = 'locked' FOR UPDATE",
        8,
      );
      const locked = Promise.allSettled(Array.from({ length: 5 }, () => admit("locked")));
      let slowest = 0;
      for (let time = 0; time < 20; time++) {
        const startedAt = performance.now();
        expect((await admit("other")).ok).toBe(true);
        slowest = Math.max(slowest, performance.now() - startedAt);
        if (time === 10) void admit("locked").catch(() => {});
      }
      expect(slowest).toBeLessThan(MAX_DELAY_MS);
      for (const { status } of await locked) expect(status).toBe("rejected");
      await held.ended;
      expect((await admit("locked")).ok).toBe(true);
    });

    test("a lock of one order causes a 503 for its cancel only", async () => {
      await using service = await servePostgres(server, 10);
      const held = await holdLock(service, "SELECT FROM store_orders.orders WHERE id = 1 FOR UPDATE", 8);
      const locked = expectUnavailableInTime(cancel(service, 1));
      for (let id = 2; id < 6; id++) expect((await cancel(service, id)).status).toBe(204);
      await locked;
      await held.ended;
      await expectServed(service, 1);
    });

    test("a lock of a whole table causes a 503 for every request, also for the check", async () => {
      await using service = await servePostgres(server, 10);
      expect((await cancel(service, 0)).status).toBe(204);
      const held = await holdLock(service, "LOCK TABLE store_orders.accounts IN ACCESS EXCLUSIVE MODE", 8);
      const checked = expect(service.asRole.check()).rejects.toThrow(StoreUnavailableError);
      // One statement, which waits while it is parsed. The server does not notice that nobody waits for it any more.
      const direct = createPostgresStore({ connectionString: server.url(service.database) });
      const key = parseKey(service.key) ?? expect.fail();
      const event = { type: "apply", id: 2n, event: "cancel" } as const;
      const admitted = expect(direct.accounts.admit(key, Date.now(), undefined, event)).rejects.toThrow(
        StoreUnavailableError,
      );
      await Promise.all([
        expectUnavailableInTime(cancel(service, 1)),
        expectUnavailableInTime(service.send("GET", LIST)),
      ]);
      await Promise.all([checked, admitted]);
      await held.ended;
      await expectServed(service, 1);
      expect([await counted(service), await statusOf(service, 2)]).toEqual([2, "pending"]);
      await direct.close();
    });
  });

  test("a read that has waited too long leaves no session that still waits for the lock", async () => {
    await using service = await servePostgres(server, 10);
    const held = service.sql(
      "BEGIN; LOCK TABLE store_orders.orders IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(8); COMMIT",
    );
    await sleep(500);
    const reads = Array.from({ length: 5 }, () =>
      expect(service.asRole.orders.find(1n)).rejects.toThrow(StoreUnavailableError),
    );
    await Promise.all(reads);
    const waiting = `SELECT count(*) FROM pg_stat_activity WHERE usename = '${service.role}' AND wait_event_type = 'Lock'`;
    expect(await server.sql(waiting)).toBe("0");
    await held;
    expect((await service.asRole.orders.find(1n))?.record.id).toBe(1n);
  });

  test.for([{ pipeline: true }, { pipeline: false }])(
    "a transaction of the program that has waited too long can no longer be committed: %o",
    async ({ pipeline }) => {
      const database = `own_transaction_${pipeline}`;
      await server.sql(`CREATE DATABASE ${database}`);
      const pool = new Pool({ connectionString: server.url(database), pipeline });
      const { orders } = createPostgresStore({ pool });
      await orders.place([{ record: { id: 1n }, status: "pending" }]);
      const [holder, waiting] = [await pool.connect(), await pool.connect()];
      for (const client of [holder, waiting]) await client.query("BEGIN");
      await orders.using(holder).apply(1n, "ship", 0);
      await waiting.query("CREATE TABLE invoices ()");
      await expect(orders.using(waiting).apply(1n, "cancel", 0)).rejects.toThrow(StoreUnavailableError);
      const committed = waiting.query("COMMIT");
      await holder.query("ROLLBACK");
      expect((await committed).command).toBe("ROLLBACK");
      expect((await orders.find(1n))?.status).toBe("pending");
      for (const client of [holder, waiting]) client.release();
      await pool.end();
    },
  );

  describe.concurrent("when its database cannot be used", () => {
    test("a server that does not respond causes a 503 in time, and is served again when it does", async () => {
      await using service = await servePostgres(server, 10);
      expect((await cancel(service, 0)).status).toBe(204);
      service.proxy.inject("hang");
      const waited = await Promise.all([1, 2, 3].map((id) => expectUnavailableInTime(cancel(service, id))));
      const again = await expectUnavailableInTime(cancel(service, 4));
      await expect(service.asRole.check()).rejects.toThrow(StoreUnavailableError);
      service.proxy.inject("none");
      await expectServed(service, 5);
      reportFigures("faults of PostgreSQL", {
        "503 while the server does not respond": `${Math.max(...waited, again)} ms`,
      });
    });

    test("a network that refuses connections causes a 503 at once, and nothing is counted", async () => {
      await using service = await servePostgres(server, 10);
      expect((await cancel(service, 0)).status).toBe(204);
      service.proxy.inject("refuse");
      for (const id of [1, 2, 3])
        expect(await expectUnavailableInTime(cancel(service, id))).toBeLessThan(MAX_STORE_CALL_MS);
      expectUnavailable(await service.send("GET", LIST));
      service.proxy.inject("none");
      await expectServed(service, 1);
      expect(await counted(service)).toBe(2);
    });

    test("sessions that the administrator ends cost no request", async () => {
      await using service = await servePostgres(server, 200);
      const cancels = Array.from({ length: 200 }, async (_, id) => {
        await sleep(id * 5);
        return (await retryWhileUnavailable(() => cancel(service, id))).status;
      });
      for (let time = 0; time < 8; time++) {
        await service.endSessions();
        await sleep(100);
      }
      expect(new Set(await Promise.all(cancels))).toEqual(new Set([204]));
    });

    test("a database that can only be read causes a 503, and is served again when it can be written", async () => {
      await using service = await servePostgres(server, 10);
      await server.sql(`ALTER DATABASE ${service.database} SET default_transaction_read_only = on`);
      await service.endSessions();
      expectUnavailable(await cancel(service, 1));
      await expect(service.asRole.check()).rejects.toThrow(StoreUnavailableError);
      await server.sql(`ALTER DATABASE ${service.database} RESET default_transaction_read_only`);
      await service.endSessions();
      await expectServed(service, 1);
      expect(await counted(service)).toBe(1);
    });

    test("a role that gets no further connection causes a 503", async () => {
      await using service = await servePostgres(server, 10);
      await server.sql(`ALTER ROLE ${service.role} CONNECTION LIMIT 0`);
      await service.endSessions();
      expectUnavailable(await cancel(service, 1));
      await server.sql(`ALTER ROLE ${service.role} CONNECTION LIMIT -1`);
      await expectServed(service, 1);
    });

    test("a permission that is missing causes a 503, never a 401, and the check sees it", async () => {
      await using service = await servePostgres(server, 10);
      for (const table of ["orders", "accounts", "api_keys"]) {
        await service.sql(`REVOKE ALL ON store_orders.${table} FROM ${service.role}`);
        expectUnavailable(await cancel(service, 1));
        await expect(service.asRole.check()).rejects.toThrow(StoreUnavailableError);
        await service.sql(`GRANT SELECT, INSERT, UPDATE, DELETE ON store_orders.${table} TO ${service.role}`);
      }
      await expectServed(service, 1);
      expect(await counted(service)).toBe(1);
    });

    test("a schema that a newer version has changed causes a 503, never a 401, until the known one is back", async () => {
      await using service = await servePostgres(server, 10);
      const setVersion = (value: string) =>
        service.sql(`UPDATE store_orders.settings SET value = ${value} WHERE name = 'schema_version'`);
      await setVersion("(value::int + 99)::text");
      expectUnavailable(await cancel(service, 1));
      expectUnavailable(await service.send("GET", LIST));
      await expect(service.asRole.check()).rejects.toThrow(StoreUnavailableError);
      await setVersion("(value::int - 99)::text");
      await expectServed(service, 1);
      expect(await counted(service)).toBe(1);
    });

    test("a list whose session ends never looks complete", async () => {
      await using service = await servePostgres(server, 60_000);
      let broken = 0;
      for (let time = 0; time < 6; time++) {
        const list = service.send("GET", LIST);
        await sleep(20 + time * 15);
        service.proxy.inject("refuse");
        const { status, complete, text } = await list;
        service.proxy.inject("none");
        if (status === 200 && !complete) broken++;
        if (complete && status === 200) expect(JSON.parse(text)).toHaveLength(60_000);
      }
      expect(broken, "lists that broke off").toBeGreaterThan(0);
      const { status, text } = await retryWhileUnavailable(() => service.send("GET", LIST));
      expect([status, JSON.parse(text).length]).toEqual([200, 60_000]);
    });
  });

  test("a response to COMMIT that is lost is found out: the cancel gets 204 and counts once", async () => {
    await using service = await servePostgres(server, 10);
    for (let id = 0; id < 5; id++) {
      service.proxy.inject(id % 2 === 0 ? "lose response" : "lose request");
      expect((await cancel(service, id)).status).toBe(204);
      expect(await counted(service)).toBe(id + 1);
    }
    expect(service.proxy.lost).toBe(5);
  });

  test("a server that crashes under load loses no acknowledged cancel, and is served again when it has recovered", async () => {
    const own = await startPostgres();
    try {
      await using service = await servePostgres(own, 600);
      const acknowledged: number[] = [];
      const ids = Array.from({ length: 600 }, (_, id) => id).values();
      const client = async () => {
        for (const id of ids) {
          const { status } = await cancel(service, id);
          if (status === 204) acknowledged.push(id);
          else expect(status).toBe(503);
        }
      };
      const clients = Promise.all(Array.from({ length: 8 }, client));
      await sleep(150);
      await own.crash();
      expectUnavailable(await cancel(service, 1_000));
      await own.start();
      const startedAt = performance.now();
      expect((await retryWhileUnavailable(() => cancel(service, 1_000))).status).toBe(404);
      const recovered = Math.round(performance.now() - startedAt);
      await clients;
      expect(acknowledged.length).toBeGreaterThan(0);
      for (const id of acknowledged) expect(await statusOf(service, id)).toBe("cancelled");
      reportFigures("faults of PostgreSQL", {
        "first response after the server is back": `${recovered} ms`,
        "cancels acknowledged around the crash, all stored": acknowledged.length,
      });
    } finally {
      await own.remove();
    }
  });

  const disk = createSmallDisk();
  afterAll(() => disk.remove?.());
  test.skipIf(skipsBecause("a full disk of PostgreSQL", disk.reason))(
    "a full disk causes a 503 for what needs space, loses nothing acknowledged, and is served again when there is space",
    async () => {
      const { folder = "" } = disk;
      const own = await startPostgres({ folder, settings: { max_wal_size: "32MB", min_wal_size: "32MB" } });
      try {
        await using service = await servePostgres(own, 1_000);
        const filler = join(folder, "filler");
        expect(() => writeFileSync(filler, Buffer.alloc(DISK_MIB * 2 ** 20))).toThrow("ENOSPC");
        const acknowledged: number[] = [];
        let [failedPlaces, failedCancels] = [0, 0];
        for (let batch = 0; batch < 100 && failedPlaces < 3; batch++) {
          const first = BigInt(10_000 + batch * 1_000);
          const more = Array.from({ length: 1_000 }, (_, index) => ({
            record: { id: first + BigInt(index), petId: 1n },
            status: "pending" as const,
          }));
          await service.store.orders.place(more).catch((error: unknown) => {
            expect(error).toBeInstanceOf(StoreUnavailableError);
            failedPlaces++;
          });
          const response = await cancel(service, batch);
          if (response.status === 204) acknowledged.push(batch);
          else expectUnavailable(response);
          if (response.status === 503) failedCancels++;
        }
        expect(failedPlaces).toBe(3);
        rmSync(filler);
        if (!own.isRunning) await own.start();
        await expectServed(service, 500);
        for (const id of acknowledged) expect(await statusOf(service, id)).toBe("cancelled");
        reportFigures("faults of PostgreSQL", {
          "cancels on a full disk: 204 and stored / 503": `${acknowledged.length} / ${failedCancels}`,
        });
      } finally {
        await own.remove();
      }
    },
  );
});

const DISK_MIB = 96;

/** A small file system. Needs root and the permission to mount. */
function createSmallDisk(): { readonly folder?: string; readonly reason?: string; remove?(): void } {
  const user = unprivilegedUser();
  if (user === undefined) return { reason: "only root can mount a small file system" };
  const folder = mkdtempSync(join(tmpdir(), "store-orders-disk-"));
  chmodSync(folder, 0o755);
  try {
    const options = `size=${DISK_MIB}m,mode=0700,uid=${user.uid},gid=${user.gid}`;
    execFileSync("mount", ["-t", "tmpfs", "-o", options, "tmpfs", folder], { stdio: "ignore" });
  } catch {
    rmSync(folder, { recursive: true });
    return { reason: "this machine does not allow mounting a file system" };
  }
  return {
    folder,
    remove() {
      execFileSync("umount", ["--lazy", folder]);
      rmSync(folder, { recursive: true });
    },
  };
}
