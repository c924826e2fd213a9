import type { Store } from "../store.ts";
import { needsReopening } from "./errors.ts";
import type { DatabaseFile } from "./file.ts";

/** A store over one connection. */
export interface OpenedStore extends Store {
  readonly file: DatabaseFile;
}

/**
 * Replaces the connection after an error shows that the file was damaged, moved or replaced: a connection caches what
 * it has read from a damaged file, and keeps writing to a deleted one. Every call rejects until there is a valid
 * database at the path. A missing database is never created here.
 */
export function withReconnect(first: OpenedStore, open: () => OpenedStore): Store {
  let current = first;
  let mustReopen = false;
  let replacing: Promise<void> | undefined;

  async function replace(): Promise<void> {
    current.file.assertReopenable();
    // Close first: if only the log was deleted, closing saves its content.
    await current.close();
    current.file.assertLogReleased();
    current = open();
    mustReopen = false;
  }

  function recordFailure(error: unknown): never {
    if (needsReopening(error)) mustReopen = true;
    throw error;
  }

  async function healthyStore(): Promise<Store> {
    replacing ??= replace().finally(() => {
      replacing = undefined;
    });
    await replacing;
    return current;
  }

  async function call<T>(task: (store: Store) => Promise<T>): Promise<T> {
    try {
      return await task(mustReopen ? await healthyStore() : current);
    } catch (error) {
      return recordFailure(error);
    }
  }

  async function* pages<T>(task: (store: Store) => AsyncIterable<T>): AsyncGenerator<T> {
    try {
      // Without a pause, so that the first page is read in the transaction of the caller. See `AdmittedWork.start`.
      yield* task(mustReopen ? await healthyStore() : current);
    } catch (error) {
      recordFailure(error);
    }
  }

  return {
    orders: {
      place: (orders) => call((store) => store.orders.place(orders)),
      find: (id) => call((store) => store.orders.find(id)),
      apply: (id, event, at) => call((store) => store.orders.apply(id, event, at)),
      list: () => pages((store) => store.orders.list()),
      scan: (after, limit) => pages((store) => store.orders.scan(after, limit)),
      revision: () => call(async (store) => (await store.orders.revision?.()) ?? ""),
    },
    accounts: {
      recordEnvironment: (environment) => call((store) => store.accounts.recordEnvironment(environment)),
      create: (account) => call((store) => store.accounts.create(account)),
      find: (id) => call((store) => store.accounts.find(id)),
      list: () => pages((store) => store.accounts.list()),
      update: (id, updater) => call((store) => store.accounts.update(id, updater)),
      resetUsage: (id) => call((store) => store.accounts.resetUsage(id)),
      unban: (accountId, keyId) => call((store) => store.accounts.unban(accountId, keyId)),
      admit: (...args) => call((store) => store.accounts.admit(...args)),
      recordRejections: (...args) => call((store) => store.accounts.recordRejections(...args)),
    },
    async close() {
      await replacing?.catch(() => {});
      await current.close();
    },
  };
}
