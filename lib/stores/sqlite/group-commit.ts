import type { DatabaseSync } from "node:sqlite";
import { BUSY_TIMEOUT_MS, jitteredDelay } from "./busy.ts";
import { isBusy, isSqliteError, toStoreError } from "./errors.ts";
import type { DatabaseFile } from "./file.ts";
import { versionCheck } from "./schema.ts";

/** `durable` survives a power failure. `relaxed` survives the end of the process and does not wait for the disk. */
export type Durability = "durable" | "relaxed";

/** The writes of a connection, in transactions that concurrent callers share. */
export interface GroupCommit {
  /**
   * Runs a write in a transaction and resolves when it is committed. Writes that arrive in one turn of the event loop
   * share a transaction, so that they wait for the disk once. `task` must not throw after it has written: its error
   * rejects this write only and does not roll back the transaction, because that would undo the other writes. An error
   * of SQLite does, and rejects all of them.
   *
   * A write that `task` itself requests before it returns joins the transaction, unless that is less durable. This is
   * how the work of a request (`AdmittedWork`) is committed with its admission.
   */
  write<T>(durability: Durability, task: () => T): Promise<T>;
  /** Closes the connection when the writes have ended. */
  close(): Promise<void>;
}

/** Executed at each change: a prepared PRAGMA would take effect when it is prepared. */
const SYNCHRONOUS = { durable: "PRAGMA synchronous = FULL", relaxed: "PRAGMA synchronous = NORMAL" };

/** The interval of the checks of the file. A durable write also checks it whenever its folder has changed. */
const FILE_CHECK_INTERVAL_MS = 100;

/** A write that was requested and is not committed yet. */
interface Job {
  /** When the call was made: each call has its own timeout. From `performance.now()`. */
  readonly since: number;
  readonly durability: Durability;
  readonly task: () => unknown;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
}

/** Creates the queue of writes over an open database. */
export function groupCommit(db: DatabaseSync, file: DatabaseFile): GroupCommit {
  const [begin, commit, rollback] = [
    db.prepare("BEGIN IMMEDIATE"),
    db.prepare("COMMIT"),
    db.prepare("ROLLBACK"),
  ];
  const checkVersion = versionCheck(db);
  let checkedAt = 0;
  /** The durability that SQLite is set to. */
  let current: Durability | undefined;
  let queue: Job[] = [];
  /** The transaction that is being executed, and its jobs. */
  let transaction: { readonly durability: Durability; readonly batch: Job[] } | undefined;
  /** Settles when the queue is empty. */
  let draining: Promise<void> | undefined;

  async function drain(): Promise<void> {
    while (queue.length > 0) {
      // This forms the groups: what arrives in the rest of this turn of the event loop is added to the queue.
      await new Promise(setImmediate);
      const jobs = queue;
      queue = [];
      try {
        commitTogether(jobs);
      } catch (error) {
        const now = performance.now();
        const canRetry = ({ since }: Job) => isBusy(error) && now < since + BUSY_TIMEOUT_MS;
        for (const job of jobs) if (!canRetry(job)) job.reject(toStoreError(error));
        const retried = jobs.filter(canRetry);
        if (retried.length > 0) await jitteredDelay();
        queue = [...retried, ...queue];
      }
    }
    draining = undefined;
  }

  function commitTogether(jobs: readonly Job[]): void {
    const durability = jobs.some((job) => job.durability === "durable") ? "durable" : "relaxed";
    rollBack();
    checkFile(durability);
    if (durability !== current) db.exec(SYNCHRONOUS[durability]);
    current = durability;
    begin.run();
    const settle: (() => void)[] = [];
    const batch = [...jobs];
    transaction = { durability, batch };
    try {
      checkVersion();
      // Includes the jobs that tasks add meanwhile; see `write`.
      for (const { task, resolve, reject } of batch) {
        try {
          const value = task() as never;
          settle.push(() => resolve(value));
        } catch (error) {
          if (isSqliteError(error)) throw error;
          settle.push(() => reject(error));
        }
      }
      commit.run();
    } catch (error) {
      rollBack();
      // The jobs that were added fail at once. If the transaction is repeated, the tasks that added them do so again.
      const added = batch.slice(jobs.length);
      for (const { reject } of added) reject(toStoreError(error));
      throw error;
    } finally {
      transaction = undefined;
    }
    for (const report of settle) report();
  }

  /** Checks the file at intervals, and before a durable write whenever its folder has changed. */
  function checkFile(durability: Durability): void {
    const now = performance.now();
    const isRecent = now < checkedAt + FILE_CHECK_INTERVAL_MS;
    if (isRecent && (durability === "relaxed" || file.isFolderUnchanged())) return;
    file.check();
    checkedAt = now;
  }

  /** Ignores errors: they would hide the first one, and the next transaction rolls back again. */
  function rollBack(): void {
    try {
      if (db.isTransaction) rollback.run();
    } catch {}
  }

  return {
    write: (durability, task) =>
      new Promise((resolve, reject) => {
        const job = { since: performance.now(), durability, task, resolve, reject };
        // A transaction is executed without a pause, so during one, only its tasks can get here.
        const canJoin = transaction?.durability === "durable" || durability === "relaxed";
        if (transaction !== undefined && canJoin) transaction.batch.push(job);
        else queue.push(job);
        draining ??= drain();
      }),

    async close() {
      await draining;
      if (db.isOpen) db.close();
    },
  };
}
