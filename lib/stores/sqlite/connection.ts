import { closeSync, mkdirSync, openSync, realpathSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { StoreUnavailableError } from "../../errors.ts";
import {
  BUSY_TIMEOUT_MS,
  isBusy,
  isSqliteError,
  jitteredDelay,
  retryWhileBusy,
  toStoreError,
} from "./errors.ts";
import { type DatabaseFile, databaseFile } from "./file.ts";
import { restrictAccess } from "./file-mode.ts";
import { migrate, versionCheck } from "./schema.ts";

/** `durable` survives a power failure. `relaxed` survives the end of the process and does not wait for the disk. */
export type Durability = "durable" | "relaxed";

/** A database connection, shared by concurrent callers. */
export interface Connection {
  readonly db: DatabaseSync;
  readonly file: DatabaseFile;
  /** Runs a read, and retries it while another process locks the database. */
  read<T>(work: () => T): Promise<T>;
  /**
   * Runs a write in a transaction and resolves when it is committed. Writes that arrive in one turn of the event loop
   * share a transaction, so that they wait for the disk once. A write that `work` itself starts joins its transaction,
   * unless that is less durable. `work` must not throw after it has written: its error does not roll back the
   * transaction, because that would undo the other writes.
   */
  write<T>(durability: Durability, work: () => T): Promise<T>;
  close(): Promise<void>;
}

/**
 * Opens a database file and migrates its schema. A missing file is created, readable by its owner only. With
 * `existing`, a missing file is an error and a locked one fails at once.
 */
export function openConnection(path: string, { existing = false } = {}): Connection {
  let db: DatabaseSync;
  try {
    if (path !== ":memory:" && !existing) {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      closeSync(openSync(path, "a", 0o600));
    }
    db = new DatabaseSync(path, { timeout: existing ? 0 : BUSY_TIMEOUT_MS });
  } catch (cause) {
    throw new StoreUnavailableError(`The database ${path} cannot be opened.`, { cause });
  }
  try {
    migrate(db, { existing });
    // SQLite would wait for a lock synchronously. `retryWhileBusy` and `drain` wait without blocking the event loop.
    db.exec("PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON; PRAGMA busy_timeout = 0");
    // The first read creates the log files, whose access is restricted next.
    db.exec("SELECT 1 FROM sqlite_schema");
    if (path !== ":memory:") restrictAccess(realpathSync(path));
    const file = databaseFile(path);
    return { db, file, ...groupCommit(db, file) };
  } catch (error) {
    db.close();
    throw toStoreError(error);
  }
}

/** Executed at each change: a prepared PRAGMA would take effect when it is prepared. */
const SYNCHRONOUS = { durable: "PRAGMA synchronous = FULL", relaxed: "PRAGMA synchronous = NORMAL" };

/** How often the file is checked, unless its folder shows that it has to be before a durable write. */
const FILE_CHECK_INTERVAL_MS = 100;

interface Job {
  /** When the call was made: each call has its own timeout. From `performance.now()`. */
  readonly since: number;
  readonly durability: Durability;
  readonly work: () => unknown;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
}

function groupCommit(db: DatabaseSync, file: DatabaseFile): Omit<Connection, "db" | "file"> {
  const [begin, commit, rollback] = [
    db.prepare("BEGIN IMMEDIATE"),
    db.prepare("COMMIT"),
    db.prepare("ROLLBACK"),
  ];
  const checkVersion = versionCheck(db);
  let checkedAt = 0;
  let current: Durability | undefined;
  let queue: Job[] = [];
  /** The transaction that is being executed. */
  let transaction: { readonly durability: Durability; readonly batch: Job[] } | undefined;
  let running: Promise<void> | undefined;

  async function drain(): Promise<void> {
    while (queue.length > 0) {
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
    running = undefined;
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
      // Includes the jobs that are added meanwhile.
      for (const { work, resolve, reject } of batch) {
        try {
          const value = work() as never;
          settle.push(() => resolve(value));
        } catch (error) {
          if (isSqliteError(error)) throw error;
          settle.push(() => reject(error));
        }
      }
      commit.run();
    } catch (error) {
      rollBack();
      // If the transaction is repeated, the jobs that started these start them again.
      for (const { reject } of batch.slice(jobs.length)) reject(toStoreError(error));
      throw error;
    } finally {
      transaction = undefined;
    }
    for (const report of settle) report();
  }

  /** Checks the file before every durable write if its folder has changed, and otherwise at intervals. */
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
    read: (work) =>
      retryWhileBusy(work).catch((error: unknown) => {
        throw toStoreError(error);
      }),

    write: (durability, work) =>
      new Promise((resolve, reject) => {
        const job = { since: performance.now(), durability, work, resolve, reject };
        const canJoin = transaction?.durability === "durable" || durability === "relaxed";
        if (transaction !== undefined && canJoin) transaction.batch.push(job);
        else queue.push(job);
        running ??= drain();
      }),

    async close() {
      await running;
      if (db.isOpen) db.close();
    },
  };
}
