import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { StoreUnavailableError } from "../../lib/core/errors.ts";
import { createPostgresStore } from "../../lib/stores/postgres/index.ts";
import { MAX_STORE_CALL_MS } from "../../lib/stores/store.ts";
import { parseKey } from "../support/parse-key.ts";
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

  describe.concurrent("whose database cannot be used", () => {
    /** Resolves once the lock is held. `ended` resolves when it is released. */
    const holdLock = async (service: ServedPostgres, statement: string, seconds: number) => {
      const ended = service.sql(`BEGIN; ${statement}; SELECT pg_sleep(${seconds}); COMMIT`);
      const isHeld = `SELECT count(*) FROM pg_stat_activity WHERE datname = '${service.database}' AND wait_event = 'PgSleep'`;
      while ((await server.sql(isHeld)) === "0") await sleep(10);
      return { ended };
    };
    test("a lock of a whole table causes a 503 for every request, also for the check", async () => {
      await using service = await servePostgres(server, 10);
      expect((await cancel(service, 0)).status).toBe(204);
      const held = await holdLock(service, "LOCK TABLE store_orders.accounts IN ACCESS EXCLUSIVE MODE", 8);
      const checked = service.asRole.check().catch((error: unknown) => error);
      // One statement, which waits while it is parsed. The server does not notice that nobody waits for it any more.
      const direct = createPostgresStore({ connectionString: server.url(service.database) });
      const key = parseKey(service.key) ?? expect.fail();
      const event = { type: "apply", id: 2n, event: "cancel" } as const;
      const admitted = direct.accounts
        .admit(key, Date.now(), undefined, event)
        .catch((error: unknown) => error);
      await Promise.all([
        expectUnavailableInTime(cancel(service, 1)),
        expectUnavailableInTime(service.send("GET", LIST)),
      ]);
      for (const error of await Promise.all([checked, admitted]))
        expect(error).toBeInstanceOf(StoreUnavailableError);
      await held.ended;
      await expectServed(service, 1);
      expect([await counted(service), await statusOf(service, 2)]).toEqual([2, "pending"]);
      await direct.close();
    });

    test("a read that has waited too long leaves no session that still waits for the lock", async () => {
      await using service = await servePostgres(server, 10);
      const held = await holdLock(service, "LOCK TABLE store_orders.orders IN ACCESS EXCLUSIVE MODE", 8);
      const reads = Array.from({ length: 5 }, () =>
        service.asRole.orders.find(1n).catch((error: unknown) => error),
      );
      for (const error of await Promise.all(reads)) expect(error).toBeInstanceOf(StoreUnavailableError);
      const waiting = `SELECT count(*) FROM pg_stat_activity WHERE usename = '${service.role}' AND wait_event_type = 'Lock'`;
      expect(await server.sql(waiting)).toBe("0");
      await held.ended;
      expect((await service.asRole.orders.find(1n))?.record.id).toBe(1n);
    });

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

    test("a list whose session ends never looks complete", async () => {
      await using service = await servePostgres(server, 60_000);
      let broken = 0;
      // Until the session has ended within a list, however long lists take on this machine.
      for (let time = 0; broken < 2 && time < 60; time++) {
        const list = service.send("GET", LIST);
        await sleep(20 + (time % 12) * 25);
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
