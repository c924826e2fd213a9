import { closeSync, existsSync, openSync, realpathSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync, StatementSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { NewerSchemaError, StoreUnavailableError } from "../../core/errors.ts";
import { CALL_TIMEOUT_MS, schedule } from "../../core/time.ts";
import { openReadOnly } from "./backup.ts";
import { isBusy, isSqliteError, needsReopening, toStoreError } from "./errors.ts";
import {
  assertLogHasDatabase,
  createFolder,
  type DatabaseFile,
  databaseFile,
  restrictAccess,
  toFileName,
} from "./file.ts";
import { migrate, SCHEMA_VERSION, versionOf } from "./schema.ts";

/** The longest wait before a call asks again for a database that another process locks. Random, so that many do not meet. */
const MAX_PAUSE_MS = 5;

/** The interval of the checks of the file. A durable write also checks it whenever its folder has changed. */
const FILE_CHECK_INTERVAL_MS = 100;

/** `durable` survives a power failure. `relaxed` survives the end of the process and does not wait for the disk. */
type Durability = "durable" | "relaxed";

/** Executed at each change: a prepared PRAGMA would take effect when it is prepared. */
const SYNCHRONOUS = { durable: "PRAGMA synchronous = FULL", relaxed: "PRAGMA synchronous = NORMAL" };

/** `Queries` are functions over prepared statements. */
export type SqliteDatabase<Queries> = ReturnType<typeof openDatabase<Queries>>;

interface Sequence {
  /** Writes what has changed. Nothing is passed on after it. */
  end(): void;
}

interface Job<Queries> {
  /** Of the call, from `performance.now()`. Each has its own timeout. */
  readonly since: number;
  readonly durability: Durability;
  /** Of a write in a sequence. */
  readonly beginSequence?: (queries: Queries) => Sequence;
  readonly task: (queries: Queries, sequence: never) => unknown;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * A missing file is created, readable by its owner only, unless it has to be an `existing` one. After an error that shows
 * that the file was damaged, moved or replaced, the next call opens it again, and never creates it: a connection caches
 * what it has read from a damaged file, and keeps writing to a deleted one. Until the file is valid, each call rejects.
 */
export function openDatabase<Queries>(
  name: string,
  prepare: (db: DatabaseSync) => Queries,
  { existing, readOnly = false }: { readonly existing: boolean; readonly readOnly?: boolean },
) {
  // The program may change its working directory later.
  const path = toFileName(name);
  let connection = connect(path, prepare, { existing, readOnly, timeoutMs: CALL_TIMEOUT_MS });
  let mustReopen = false;
  let isClosed = false;
  let queue: Job<Queries>[] = [];
  let draining: Promise<void> | undefined;

  function healthyConnection() {
    if (isClosed) throw new StoreUnavailableError("The store was closed.");
    if (!mustReopen && connection.isCurrent()) return connection;
    const { db, file } = connection;
    file.assertReopenable();
    mustReopen = true;
    // Close first: if only the log was deleted, closing saves its content.
    if (db.isOpen) db.close();
    file.assertLogReleased();
    // Fails at once if it is locked: waiting for the lock would block the event loop.
    connection = connect(path, prepare, { existing: true, readOnly, timeoutMs: 0 });
    mustReopen = false;
    return connection;
  }

  function recordError(error: unknown): unknown {
    const problem = toStoreError(error);
    if (needsReopening(problem)) mustReopen = true;
    return problem;
  }

  async function drain(): Promise<void> {
    while (queue.length > 0) {
      // Tasks that arrive in the rest of this turn of the event loop join the group.
      await new Promise<void>(schedule);
      const jobs = queue;
      queue = [];
      try {
        commitTogether(jobs);
      } catch (error) {
        const now = performance.now();
        const canRetry = ({ since }: Job<Queries>) => isBusy(error) && now < since + CALL_TIMEOUT_MS;
        const problem = recordError(error);
        for (const job of jobs) if (!canRetry(job)) job.reject(problem);
        queue = [...jobs.filter(canRetry), ...queue];
        await sleep(Math.random() * MAX_PAUSE_MS);
      }
    }
    draining = undefined;
  }

  function commitTogether(jobs: readonly Job<Queries>[]): void {
    const durability = jobs.some((job) => job.durability === "durable") ? "durable" : "relaxed";
    const { queries, begin, commit, rollBack } = healthyConnection();
    rollBack();
    const settled: [report: (outcome: never) => void, outcome: unknown][] = [];
    let sequence: Sequence | undefined;
    try {
      begin(durability);
      for (const { beginSequence, task, resolve, reject } of jobs) {
        if (beginSequence === undefined) sequence?.end();
        sequence = beginSequence && (sequence ?? beginSequence(queries));
        try {
          settled.push([resolve, task(queries, sequence as never)]);
        } catch (error) {
          if (isSqliteError(error)) throw error;
          settled.push([reject, error]);
        }
      }
      sequence?.end();
      commit();
    } catch (error) {
      rollBack();
      throw error;
    }
    for (const [report, outcome] of settled) report(outcome as never);
  }

  async function read<T>(task: (queries: Queries) => T): Promise<T> {
    const deadline = performance.now() + CALL_TIMEOUT_MS;
    for (;;) {
      try {
        return task(healthyConnection().queries);
      } catch (error) {
        if (!isBusy(error) || performance.now() > deadline) throw recordError(error);
        await sleep(Math.random() * MAX_PAUSE_MS);
      }
    }
  }

  function enqueue<T>(job: Omit<Job<Queries>, "since" | "resolve" | "reject">): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    queue.push({ ...job, since: performance.now(), resolve, reject });
    draining ??= drain();
    return promise;
  }

  /**
   * Writes that arrive in one turn of the event loop share a transaction, so that they wait for the disk once. `task`
   * must not throw after it has written: its error rejects this write only and does not roll back the transaction,
   * because that would undo the other writes. An error of SQLite does, and rejects all of them.
   */
  const write = <T>(durability: Durability, task: (queries: Queries) => T) =>
    enqueue<T>({ durability, task });

  return {
    read,
    write,

    /**
     * Writes that follow each other in a transaction get the same object, which `beginSequence` made for the first.
     * It ends before any other write, which can read and change every row, and before the commit.
     */
    writeInSequence: <S extends Sequence, T>(
      durability: Durability,
      beginSequence: (queries: Queries) => S,
      task: (sequence: S) => T,
    ) => enqueue<T>({ durability, beginSequence, task: (_queries, sequence) => task(sequence) }),

    /** Rejects unless a write succeeds and every query can be prepared. */
    async check() {
      // Nothing else says whether a write succeeds.
      await write("relaxed", () => connection.db.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`));
      // A table or column may be missing. Not in the transaction, because other calls in it would fail too.
      await read(() => {
        // SQLite notices a changed schema when a statement runs, not when it is prepared.
        connection.db.exec("SELECT 1 FROM sqlite_schema LIMIT 1");
        prepare(connection.db);
      });
    },

    async close() {
      await draining;
      isClosed = true;
      if (connection.db.isOpen) connection.db.close();
    },
  };
}

interface OpenOptions {
  readonly existing: boolean;
  readonly readOnly: boolean;
  readonly timeoutMs: number;
}

function connect<Queries>(path: string, prepare: (db: DatabaseSync) => Queries, options: OpenOptions) {
  if (StatementSync.prototype.setReturnArrays === undefined)
    throw new Error(`The SQLite store needs Node 22.16 or newer; this is ${process.version}.`);
  const { db, isCurrent } = options.readOnly ? openReadOnly(path) : openToWrite(path, options);
  try {
    if (!options.readOnly) {
      migrate(db, options);
      // SQLite would wait for a lock synchronously. `read` and `write` do not block the event loop.
      db.exec("PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON; PRAGMA busy_timeout = 0");
      // The first read creates the log files, whose access is restricted next.
      db.exec("SELECT 1 FROM sqlite_schema");
      if (path !== ":memory:") restrictAccess(realpathSync.native(path));
    } else if (versionOf(db) !== SCHEMA_VERSION)
      throw new StoreUnavailableError(
        `The database has schema version ${versionOf(db)}. Open a copy that can be written, which migrates it.`,
      );
    const file = databaseFile(path);
    return { db, isCurrent, file, queries: prepare(db), ...transactionsOf(db, file) };
  } catch (error) {
    db.close();
    throw toStoreError(error, path);
  }
}

function openToWrite(path: string, { existing, timeoutMs }: OpenOptions): ReturnType<typeof openReadOnly> {
  if (existing && !existsSync(path))
    throw new StoreUnavailableError(`There is no database at ${path}. Check the path, or restore a backup.`);
  assertLogHasDatabase(path);
  try {
    if (path !== ":memory:" && !existing) {
      createFolder(dirname(path));
      closeSync(openSync(path, "a", 0o600));
    }
    return { db: new DatabaseSync(path, { timeout: timeoutMs }), isCurrent: () => true };
  } catch (cause) {
    throw new StoreUnavailableError(`The database ${path} cannot be opened.`, { cause });
  }
}

/**
 * How statements return values. `setReturnArrays`: rows are arrays, because Node creates a hidden class for each row that
 * is an object. `setReadBigInts`: integers are `bigint`. Each write needs it: SQLite reports the last rowid of the
 * connection, and every int64 can be the identifier of an order. Node 26 throws if it has to become a number.
 */
type StatementOption = "setReturnArrays" | "setReadBigInts";

export function prepareAll<Name extends string>(
  db: DatabaseSync,
  sql: Readonly<Record<Name, string>>,
  ...options: readonly StatementOption[]
): Readonly<Record<Name, StatementSync>> {
  const prepared = Object.entries<string>(sql).map(([name, text]) => {
    const statement = db.prepare(text);
    for (const option of options) statement[option](true);
    return [name, statement] as const;
  });
  return Object.fromEntries(prepared) as Record<Name, StatementSync>;
}

/** Run in every transaction: a newer version may migrate the database while this one serves it. */
export function versionCheck(db: DatabaseSync): () => void {
  const { select } = prepareAll(db, { select: "PRAGMA user_version" }, "setReturnArrays");
  return () => {
    const [version] = select.get() as unknown as readonly [number];
    if (version === SCHEMA_VERSION) return;
    const cause = new NewerSchemaError(`The database now has schema version ${version}.`);
    throw new StoreUnavailableError("A newer version has migrated the database. Upgrade store-orders.", {
      cause,
      retryable: false,
    });
  };
}

function transactionsOf(db: DatabaseSync, file: DatabaseFile) {
  const sql = { begin: "BEGIN IMMEDIATE", commit: "COMMIT", rollback: "ROLLBACK" };
  const { begin, commit, rollback } = prepareAll(db, sql, "setReadBigInts");
  const checkVersion = versionCheck(db);
  let checkedAt = 0;
  let current: Durability | undefined;

  function checkFile(durability: Durability): void {
    const now = performance.now();
    const isRecent = now < checkedAt + FILE_CHECK_INTERVAL_MS;
    if (isRecent && (durability === "relaxed" || file.isFolderUnchanged())) return;
    file.check();
    checkedAt = now;
  }

  return {
    begin(durability: Durability): void {
      checkFile(durability);
      if (durability !== current) db.exec(SYNCHRONOUS[durability]);
      current = durability;
      begin.run();
      checkVersion();
    },
    commit: () => void commit.run(),
    /** Ignores errors: they would hide the first one, and the next transaction rolls back again. */
    rollBack(): void {
      try {
        if (db.isTransaction) rollback.run();
      } catch {}
    },
  };
}
