import { mkdtempSync, renameSync, rmSync, statSync } from "node:fs";
import { open, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { CALL_TIMEOUT_MS } from "../../lib/core/time.ts";
import { SCHEMA_VERSION } from "../../lib/stores/sqlite/schema.ts";
import { skipsBecause } from "../support/skip-reason.ts";
import { type InjectedFault, reconcile, runUnderFaults } from "./mixed-requests.ts";
import { expectUnavailable, LIST, orderAt } from "./requester.ts";
import { createRandom, reportFigures } from "./run.ts";
import { startService } from "./service.ts";
import { limitFiles, reasonToSkip } from "./sqlite/disk-limit.ts";
import { holdLock, type ServedDatabase, serveDatabase } from "./sqlite/fixture.ts";

const cancel = (service: ServedDatabase, id: number) => service.send("DELETE", orderAt(id));

/** Faults that last as long as a pause, after which the database is served again. */
function faultsOf({ path, process, executeOutside }: ServedDatabase): Record<string, InjectedFault> {
  const faults: Record<string, InjectedFault> = {
    async "held by another process"(pause) {
      const lock = holdLock(path);
      await pause();
      lock.release();
    },

    async "full disk"(pause) {
      limitFiles(process.pid, statSync(`${path}-wal`).size);
      await pause();
      limitFiles(process.pid, "unlimited");
    },

    async "newer schema"(pause) {
      executeOutside("PRAGMA user_version = 99");
      await pause();
      executeOutside(`PRAGMA user_version = ${SCHEMA_VERSION}`);
    },

    async "moved away"(pause) {
      renameSync(path, `${path}.away`);
      await pause();
      renameSync(`${path}.away`, path);
    },

    async "log deleted"() {
      rmSync(`${path}-wal`);
    },
  };
  if (skipsBecause("a full disk", reasonToSkip())) delete faults["full disk"];
  return faults;
}

describe.concurrent("a SQLite file that is served", () => {
  test("under faults of every kind, each 204 is one cancelled order, and each counted request was admitted", async () => {
    const sizes = { orders: 1_000, requests: 8_000 };
    await using service = await serveDatabase(sizes.orders);
    const { tally, admitted, total } = await runUnderFaults(
      service.send,
      faultsOf(service),
      { ...sizes, width: 16 },
      { requests: createRandom("requests of SQLite"), faults: createRandom("faults of SQLite") },
    );
    await service.inspect(async (store) => {
      expect(tally.unanswered).toBe(0);
      const figures = await reconcile(store, tally, sizes.orders);
      const counted = (await store.accounts.find("shop"))?.usage.minute.count ?? 0;
      // No response is lost between the file and its process, so every count has its response.
      expect(counted).toBe(admitted);
      reportFigures("faults of a SQLite file", {
        "requests under faults": sizes.requests,
        "injected faults": total,
        ...figures,
        "admitted / counted": `${admitted} / ${counted}`,
      });
    });
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
    expect((await service.send("GET", "/openapi.json")).status, "what needs no store").toBe(200);
    const waited = await Promise.all([first, expectTimeout(2), expectTimeout(3)]);
    lock.release();
    expect((await cancel(service, 1)).status).toBe(204);
    // Requests that arrive while others wait do not wait longer than those.
    for (const time of waited) expect(time).toBeGreaterThanOrEqual(CALL_TIMEOUT_MS);
    for (const time of waited) expect(time).toBeLessThan(9_000);
    const account = await service.inspect(({ accounts }) => accounts.find("shop"));
    expect(account?.usage.minute.count).toBe(1);
    reportFigures("faults of a SQLite file", {
      "503 after a lock that is never released": `${Math.round(Math.max(...waited))} ms`,
    });
  });

  test("damage never results in a list that looks complete, and a repaired file is served again", async () => {
    // Larger than the cache of a connection, so that the damage is read.
    const orders = 60_000;
    await using service = await serveDatabase(orders);
    const intact = await readFile(service.path);
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

test("four processes can create the same database at once", async () => {
  const folder = mkdtempSync(join(tmpdir(), "store-orders-"));
  const address = { kind: "sqlite", path: join(folder, "orders.db") } as const;
  const services = await Promise.all(Array.from({ length: 4 }, () => startService(address)));
  for (const { stop } of services) await stop();
  rmSync(folder, { recursive: true });
});

async function overwrite(path: string, position: number, bytes: Uint8Array): Promise<void> {
  const file = await open(path, "r+");
  await file.write(bytes, 0, bytes.length, position);
  await file.close();
}
