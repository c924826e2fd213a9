import { closeSync, mkdirSync, openSync } from "node:fs";
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

/** `durable` survives a loss of power; `relaxed` survives the end of the process, and costs no wait for the disk. */
export type Durability = "durable" | "relaxed";

/** One database connection that several callers share. */
export interface Connection {
  readonly db: DatabaseSync;
  readonly file: DatabaseFile;
  /** Runs a piece of reading, again while another process holds the database. */
  read<T>(work: () => T): Promise<T>;
  /**
   * Runs a piece of writing in a transaction; resolves when it is committed. All that arrives in one turn of the
   * event loop is committed together, with one wait for the disk. Work decides first and writes last, so what
   * it throws of its own leaves nothing behind.
   */
  write<T>(durability: Durability, work: () => T): Promise<T>;
  close(): Promise<void>;
}

/**
 * Opens a database file and brings its schema up to date. A new one is readable by its owner alone; with `existing`
 * none is made, and other processes are not waited for.
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
    // Waiting for other processes is done by `whenFree` and `drain`, where it does not stop the event loop.
    db.exec("PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON; PRAGMA busy_timeout = 0");
    // The log of a new database is made when it is read for the first time.
    db.exec("SELECT 1 FROM sqlite_schema");
    if (path !== ":memory:") restrictAccess(path);
    const file = databaseFile(path);
    return { db, file, ...groupCommit(db, file) };
  } catch (error) {
    db.close();
    throw toStoreError(error);
  }
}

/** Run anew at each change: a prepared PRAGMA takes effect when it is prepared. */
const SYNCHRONOUS = { durable: "PRAGMA synchronous = FULL", relaxed: "PRAGMA synchronous = NORMAL" };

/** How long a look at the file serves for counters, in milliseconds. */
const FILE_CHECK_INTERVAL_MS = 100;

interface Job {
  /** When it came: each has its own patience, however long those before it have waited. */
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
  let checked = 0;
  let mode: Durability | undefined;
  let queue: Job[] = [];
  let running: Promise<void> | undefined;

  async function drain(): Promise<void> {
    while (queue.length > 0) {
      await new Promise(setImmediate);
      const jobs = queue;
      queue = [];
      try {
        commitTogether(jobs);
      } catch (error) {
        const late = isBusy(error) ? performance.now() - BUSY_TIMEOUT_MS : Infinity;
        for (const { since, reject } of jobs) if (since <= late) reject(toStoreError(error));
        const waiting = jobs.filter(({ since }) => since > late);
        if (waiting.length > 0) await jitteredDelay();
        queue = [...waiting, ...queue];
      }
    }
    running = undefined;
  }

  function commitTogether(jobs: readonly Job[]): void {
    const wanted = jobs.some(({ durability }) => durability === "durable") ? "durable" : "relaxed";
    undo();
    checkFile(wanted);
    if (wanted !== mode) db.exec(SYNCHRONOUS[wanted]);
    mode = wanted;
    begin.run();
    const answers: (() => void)[] = [];
    try {
      checkVersion();
      for (const { work, resolve, reject } of jobs) {
        try {
          const value = work() as never;
          answers.push(() => resolve(value));
        } catch (error) {
          if (isSqliteError(error)) throw error;
          answers.push(() => reject(error));
        }
      }
      commit.run();
    } catch (error) {
      undo();
      throw error;
    }
    for (const answer of answers) answer();
  }

  /** Each time before something is flushed; for counters, a look costs a tenth of the write itself. */
  function checkFile(wanted: Durability): void {
    const now = performance.now();
    if (wanted === "relaxed" && now < checked + FILE_CHECK_INTERVAL_MS) return;
    file.check();
    checked = now;
  }

  /** What failed is the error to tell, not that it could not be undone; the next transaction tries that again. */
  function undo(): void {
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
        queue.push({ since: performance.now(), durability, work, resolve, reject });
        running ??= drain();
      }),

    async close() {
      await running;
      if (db.isOpen) db.close();
    },
  };
}
