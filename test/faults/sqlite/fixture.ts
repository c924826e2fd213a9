/** A database with orders and one key, and the service over it in its own process. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createAccounts, type IssuedKey } from "../../../lib/accounts/accounts.ts";
import { createSqliteStore } from "../../../lib/stores/sqlite/index.ts";
import type { Store } from "../../../lib/stores/store.ts";
import { PER_MINUTE, recordAt } from "../mixed-requests.ts";
import { createRequester, type SendRequest } from "../requester.ts";

export const NOW = Date.UTC(2026, 10, 20, 12);

/** A service over a database file. */
export interface ServedDatabase {
  readonly path: string;
  readonly process: ChildProcess;
  readonly send: SendRequest;
  /** Executes statements on the file over another connection. */
  executeOutside(sql: string): void;
  /** Kills the service, and opens its file. */
  inspect<T>(work: (store: Store) => Promise<T>): Promise<T>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Creates a database with pending orders and one key, and returns the key. */
export async function createFilledDatabase(path: string, orders: number): Promise<string> {
  const store = createSqliteStore({ path });
  const accounts = createAccounts({ store: store.accounts, environment: "test", clock: () => NOW });
  await accounts.create("shop", {
    plan: "enterprise",
    customLimits: { perMinute: PER_MINUTE, perDay: 100 * PER_MINUTE },
  });
  const { key } = (await accounts.issueKey("shop")) as IssuedKey;
  await store.orders.place(
    Array.from({ length: orders }, (_, index) => ({ record: recordAt(index), status: "pending" as const })),
  );
  await store.close();
  return key;
}

/** Starts the service over a new database. */
export async function serveDatabase(orders: number): Promise<ServedDatabase> {
  const folder = mkdtempSync(join(tmpdir(), "store-orders-"));
  const path = join(folder, "orders.db");
  const key = await createFilledDatabase(path, orders);
  const child = fork(new URL("server-process.ts", import.meta.url), [path, `${NOW}`]);
  const [url] = (await Promise.race([once(child, "message"), once(child, "exit")])) as [string];
  if (child.exitCode !== null) {
    rmSync(folder, { recursive: true });
    throw new Error(`The service ended with ${child.exitCode}.`);
  }
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  };
  return {
    path,
    process: child,
    send: createRequester(url, key),
    executeOutside(sql) {
      const db = new DatabaseSync(path, { timeout: 5_000 });
      db.exec(sql);
      db.close();
    },
    async inspect(work) {
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
