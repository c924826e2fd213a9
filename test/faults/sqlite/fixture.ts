/** A SQLite database, and the service over it in its own process. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createSqliteStore } from "../../../lib/stores/sqlite/index.ts";
import type { Store } from "../../../lib/stores/store.ts";
import { createRequester } from "../requester.ts";
import { fillStore, startService } from "../service.ts";

export async function serveDatabase(orders: number) {
  const folder = mkdtempSync(join(tmpdir(), "store-orders-"));
  const path = join(folder, "orders.db");
  const key = await fillStore({ kind: "sqlite", path }, orders);
  const { url, process, stop } = await startService({ kind: "sqlite", path });
  return {
    path,
    process,
    send: createRequester(url, key),
    /** Executes statements on the file over another connection. */
    executeOutside(sql: string) {
      const db = new DatabaseSync(path, { timeout: 5_000 });
      db.exec(sql);
      db.close();
    },
    /** Kills the service, and opens its file. */
    async inspect<T>(work: (store: Store) => Promise<T>) {
      await stop();
      const store = createSqliteStore({ path });
      try {
        return await work(store);
      } finally {
        await store.close();
      }
    },
    async [Symbol.asyncDispose]() {
      await stop();
      rmSync(folder, { recursive: true });
    },
  };
}

export type ServedDatabase = Awaited<ReturnType<typeof serveDatabase>>;

/** Locks a database as another writing process does. */
export function holdLock(path: string): { release(): void } {
  const db = new DatabaseSync(path, { timeout: 5_000 });
  db.exec("BEGIN IMMEDIATE");
  return {
    release() {
      db.exec("COMMIT");
      db.close();
    },
  };
}
