import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { settleWithin } from "../../core/concurrency.ts";
import { invalidInput, StoreUnavailableError } from "../../core/errors.ts";
import { backoffMs, CALL_TIMEOUT_MS, MAX_STORE_CALL_MS } from "../../core/time.ts";
import { type Blocker, holdersStatement, takeStrongLocks } from "./blockers.ts";
import {
  DatabaseError,
  hiddenRows,
  isForeignSession,
  isMissingTable,
  isOpenTransaction,
  isOutsideTransaction,
  isRefused,
  isRepeatable,
  isWrongSession,
  NO_TRANSACTION_SETTING,
  notCommitted,
  openTransaction,
  standby,
  toStoreError,
} from "./errors.ts";
import {
  MIGRATED_TABLES,
  MIGRATION_LOCK,
  type MigrationResult,
  migrate,
  missingTables,
  quoteSchema,
  SCHEMA_VERSION,
  toLiteral,
  wrongVersion,
} from "./schema.ts";

/** The part of a `Pool` of `pg` that the store uses, so that a pool of another driver can be adapted to it. */
export interface PostgresPool {
  /** Lends a connection. */
  connect(): Promise<PooledConnection>;
  readonly totalCount?: number;
  readonly idleCount?: number;
  readonly waitingCount?: number;
}

/** The part of a `Client` of `pg` that the store uses. */
export interface PostgresConnection {
  /** True if several queries can be sent at once. Otherwise each is sent when the one before has ended. */
  readonly pipeline?: boolean;
  /** Sends a query. */
  query(
    query: PostgresQuery,
  ): Promise<{ readonly rows: readonly (readonly unknown[])[]; readonly command?: string }>;
}

/** The connection of a pool. */
export interface PooledConnection extends PostgresConnection {
  /** Returns the connection to the pool, or closes it. */
  release(close?: boolean): void;
  /** The state in which the server answered last: `I` if no transaction is open, `T` in one, `E` in one that failed. */
  getTransactionStatus?(): string | null;
  /** Adds a listener for the loss of the connection. */
  on?(event: "error", listener: (error: Error) => void): unknown;
  /** Removes such a listener. */
  removeListener?(event: "error", listener: (error: Error) => void): unknown;
}

/** A query as `pg` takes it. One without values can have several statements. */
export interface PostgresQuery {
  readonly text: string;
  readonly values?: unknown[];
  /** The name of the prepared statement. */
  readonly name?: string;
  readonly rowMode: "array";
  readonly types: {
    /** Returns what converts a value. */
    getTypeParser(): (value: string) => unknown;
  };
  /** In milliseconds. A query that takes longer rejects, and its connection is closed. */
  readonly query_timeout?: number;
}

/** A statement with its values. */
export interface Statement {
  readonly text: string;
  readonly values?: readonly unknown[];
  /** What is read of its rows `q`, if not all of them as they are. */
  readonly selected?: string;
  /** True if its text is seldom repeated, so that preparing it would save nothing. */
  readonly isRare?: boolean;
}

/**
 * In SQL that can run in a session of a caller: the operator `=`, and the type of an array of strings. `unnest` of several
 * arrays is always that of the server.
 */
export const IS = "OPERATOR(pg_catalog.=)";
export const TEXTS = "pg_catalog.text[]";

/** Rows as arrays: they take less time than objects. Convert each value: `pg` returns strings, other drivers numbers. */
export type Rows = readonly (readonly unknown[])[];

/** What happens in one transaction: it reads and locks, decides, and writes. So it takes two round trips. */
export interface Work<T> {
  /** True if the change survives a power failure once the promise resolves. */
  readonly durable: boolean;
  /** The longest wait for a lock, in milliseconds. @default the time of the call */
  readonly maxLockWaitMs?: number;
  /** The first column of the rows of the first statement must not be null. */
  readonly first: readonly [Statement, ...Statement[]];
  /** Pure: it is called again if the transaction has to be repeated. `rows` are those of `first`. */
  decide(rows: readonly Rows[]): Decided<T>;
}

/** What a transaction writes, and its result. */
interface Decided<T> {
  readonly writes: readonly Statement[];
  /** The result, from the rows of `writes`. They are missing if the transaction was committed and its response lost. */
  result(rows: readonly Rows[] | undefined): T;
}

/** A database with the tables of the store. */
export interface Database {
  /** The quoted name of the schema. */
  readonly schema: string;
  /** Runs one statement that only reads. The first column of its rows must not be null. */
  read(statement: Statement): Promise<Rows>;
  /** Runs a transaction. `since` is the time at which the caller began to wait, from `performance.now()`. */
  change<T>(work: Work<T>, since?: number): Promise<T>;
  /**
   * Runs one statement that changes rows, and commits it, in one round trip. It is repeated if the connection is lost, also
   * if it was committed.
   */
  changeAtOnce(
    statement: Statement,
    options: { readonly maxLockWaitMs: number; readonly since: number },
  ): Promise<Rows>;
  /** Adds a call that `settled` waits for. */
  track<T>(call: Promise<T>): Promise<T>;
  /** Resolves when no call is pending. */
  settled(): Promise<void>;
}

/** Attempts of a transaction which a deadlock or a lost connection ends. */
const MAX_ATTEMPTS = 4;

/** Opens a database. Nothing is sent before the first call. With `existing`, no tables are created. */
export function openDatabase(
  pool: PostgresPool,
  { schema, existing }: { readonly schema: string; readonly existing: boolean },
): Database {
  const quoted = quoteSchema(schema);
  /** False once a connection pooler has given a session to another client. */
  let canPrepare = true;
  let creating: Promise<unknown> | undefined;
  const pending = new Set<Promise<unknown>>();

  /** Creates the tables, once for all calls that wait for them. */
  async function createTables(deadline: number): Promise<void> {
    if (existing) throw missingTables(schema);
    creating ??= migrateTables(pool, { schema, onlyIfEmpty: true, deadline }).finally(() => {
      creating = undefined;
    });
    await creating;
  }

  /** Runs a task on a connection, and repeats it if it has changed nothing and can succeed at once. */
  async function run<T>(
    since: number,
    task: (connection: PooledConnection, query: ToQuery, deadline: number) => Promise<T>,
  ): Promise<T> {
    const deadline = since + CALL_TIMEOUT_MS;
    for (let attempt = 1; ; attempt++) {
      const query: ToQuery = (statement) => toQuery(statement, deadline, canPrepare);
      try {
        return await withConnection(pool, deadline, (connection) => task(connection, query, deadline));
      } catch (error) {
        if (isForeignSession(error)) canPrepare = false;
        const hasTime = attempt < MAX_ATTEMPTS && performance.now() < deadline;
        if (isMissingTable(error) && attempt === 1) await createTables(deadline);
        else if (isRepeatable(error) && hasTime) await sleep(backoffMs(attempt, 1, Infinity));
        else throw toStoreError(error);
      }
    }
  }

  function track<T>(call: Promise<T>): Promise<T> {
    pending.add(call);
    const remove = () => void pending.delete(call);
    call.then(remove, remove);
    return call;
  }

  return {
    schema: quoted,
    track,
    async settled() {
      while (pending.size > 0) await Promise.allSettled(pending);
    },

    read: (statement) =>
      track(
        run(performance.now(), async (connection, query, deadline) => {
          // In a transaction, so that the server ends the statement too when the caller no longer waits for it.
          const text = `${BEGIN}, READ ONLY; ${OWN_NAMES}; SET LOCAL statement_timeout = ${serverTimeoutMs(deadline)}`;
          const statements = [{ text }, withState(quoted, statement, OF_READ), { text: "ROLLBACK" }];
          const { rows, error } = await send(connection, statements.map(query));
          if (error !== undefined) throw error;
          const { state, rows: found } = splitState(rows[1], OF_READ);
          if (isTrue(state[1])) throw standby();
          return found;
        }),
      ),

    changeAtOnce: (statement, { maxLockWaitMs, since }) =>
      track(
        run(since, async (connection, query, deadline) => {
          const statements = [{ text: beginText(deadline, maxLockWaitMs) }, statement, { text: "COMMIT" }];
          const { rows, error } = await send(connection, statements.map(query));
          if (error !== undefined) throw error;
          return rows[1] ?? [];
        }),
      ),

    change: (work, since = performance.now()) =>
      track(
        run(since, async (connection, query, deadline) => {
          const columns = columnsOfChange(work.durable);
          const [first, ...others] = work.first;
          const statements = [withState(quoted, first, columns), ...others];
          const begin = query({ text: beginText(deadline, work.maxLockWaitMs) });
          const opened = await send(connection, [begin, ...statements.map(query)]);
          if (opened.error !== undefined) throw opened.error;
          const { state, rows: firstRows } = splitState(opened.rows[1], columns);
          const { writes, result } = work.decide([firstRows, ...opened.rows.slice(2)]);
          const { rows, error } = await send(connection, [...writes.map(query), query({ text: "COMMIT" })]);
          if (error === undefined) return result(rows.slice(0, -1));
          if (error.isRolledBack) throw error;
          // The response to COMMIT is lost, and the change may have been made.
          connection.release(true);
          const [, transaction, startedAt, beganAt] = state;
          if (!(await isCommitted(pool, `${transaction}`, { startedAt, beganAt }, deadline))) throw error;
          return result(rows.length < writes.length ? undefined : rows);
        }),
      ),
  };
}

/**
 * The same tables in a transaction of the caller, who commits it or rolls it back. It is the caller's session, so nothing of
 * it is set: the statements name every function and operator with its schema, and a query tells whether rows are hidden.
 */
export function databaseOf(database: Database, connection: PostgresConnection): Database {
  const { schema } = database;
  const run = async (statements: readonly Statement[], deadline: number): Promise<readonly Rows[]> => {
    // Without the driver's time limit, at which it would close the connection.
    const queries = statements.map((statement) => toQuery(statement));
    const { rows, error } = await settleWithin(msUntil(deadline), send(connection, queries));
    if (isOutsideTransaction(error)) throw invalidInput("client", NO_TRANSACTION);
    if (error !== undefined) throw toStoreError(error);
    return rows;
  };
  /** Makes a call once those before it have settled: otherwise both would decide on the same rows. */
  function inTurn<T>(call: (deadline: number) => Promise<T>): Promise<T> {
    const deadline = performance.now() + CALL_TIMEOUT_MS;
    const result = (turns.get(connection) ?? Promise.resolve()).then(() => call(deadline));
    // A failed statement, which precedes the caller's COMMIT: what was rejected is not committed.
    const rejected = result.catch((error: unknown) => {
      connection.query(toQuery({ text: FAIL })).catch(ignore);
      throw error;
    });
    turns.set(connection, rejected.catch(ignore));
    return rejected;
  }
  /** Throws unless all rows are visible. */
  function visible(rows: Rows | undefined, columns: StateColumns): Rows {
    if (isTrue(rows?.[0]?.[1])) throw hiddenRows();
    return splitState(rows, columns).rows;
  }
  return {
    ...database,
    read: (statement) =>
      inTurn(async (deadline) => {
        // Fails unless a transaction is open, and has no other effect than the read that follows.
        const lock = { text: `LOCK TABLE ${schema}.settings IN ACCESS SHARE MODE` };
        const columns: StateColumns = ["value", areRowsHidden(schema)];
        const [, rows] = await run([lock, withState(schema, statement, columns)], deadline);
        return visible(rows, columns);
      }),
    change: ({ first: [first, ...others], decide }) =>
      inTurn(async (deadline) => {
        const start = { text: `SELECT pg_catalog.pg_current_xact_id(), ${SERVER_SECONDS}` };
        const [[[transaction, seconds] = []] = []] = await run([start], deadline);
        const last = Number(seconds) + serverTimeoutMs(deadline) / 1_000;
        // Without a transaction, each statement is one of its own. And one that has waited for too long could be committed
        // after its call has rejected. Then this fails, and with it its statement.
        const isValid = `pg_catalog.current_setting(CASE
          WHEN NOT pg_catalog.xid8eq(pg_catalog.pg_current_xact_id(), '${transaction}') THEN '${NO_TRANSACTION_SETTING}'
          WHEN ${SERVER_SECONDS} OPERATOR(pg_catalog.>) ${last}::numeric THEN 'store_orders.call_took_too_long'
          ELSE 'server_version' END)`;
        const columns: StateColumns = ["value", areRowsHidden(schema), isValid];
        const guarded = others.map((statement) => withCondition(statement, isValid));
        const [firstRows, ...rows] = await run(
          [withState(schema, first, columns, true), ...guarded],
          deadline,
        );
        const { writes, result } = decide([visible(firstRows, columns), ...rows]);
        const guardedWrites = writes.map((write) => withCondition(write, isValid));
        return result(await run(guardedWrites, deadline));
      }),
  };
}

const NO_TRANSACTION =
  "There is no transaction, and nothing was written. Begin one on this client with BEGIN, await each call, and end it with " +
  "COMMIT. Give a client, not a pool, whose queries use different connections.";

const FAIL = "SELECT pg_catalog.current_setting('store_orders.call_was_rejected')";

/** The last call on each connection of a caller. */
const turns = new WeakMap<PostgresConnection, Promise<unknown>>();

/** The time of the server. */
const SERVER_SECONDS = "extract(epoch FROM pg_catalog.clock_timestamp())";

/** Adds what is evaluated after a write. A statement that only reads needs nothing. */
function withCondition(statement: Statement, condition: string): Statement {
  if (statement.text.startsWith("SELECT")) return statement;
  const written = `WITH w AS (${statement.text} RETURNING true), n AS (SELECT pg_catalog.count(*) FROM w)`;
  return { ...statement, text: `${written} SELECT ${condition} FROM n` };
}

/** True if a policy of row level security applies to the role, which then may not see all rows. */
function areRowsHidden(schema: string): string {
  const isActive = (table: string) => `pg_catalog.row_security_active(${toLiteral(`${schema}.${table}`)})`;
  return `${isActive("orders")} OR ${isActive("settings")}`;
}

type ToQuery = (statement: Statement) => PostgresQuery;

/** The names of prepared statements by their SQL, the same in every process. */
const names = new Map<string, string>();

function toQuery(
  { text, values, isRare = false }: Statement,
  deadline?: number,
  canPrepare = false,
): PostgresQuery {
  const query: PostgresQuery = {
    text,
    rowMode: "array",
    types: AS_STRINGS,
    ...(deadline !== undefined && { query_timeout: msUntil(deadline) }),
  };
  if (values === undefined) return query;
  if (isRare || !canPrepare) return { ...query, values: [...values] };
  let name = names.get(text);
  if (name === undefined) {
    name = `store_orders_${createHash("sha256").update(text).digest("hex").slice(0, 32)}`;
    names.set(text, name);
  }
  return { ...query, values: [...values], name };
}

/** A program can have changed how `pg` reads a type. */
const AS_STRINGS = { getTypeParser: () => (value: string) => value };

/** The rows of the queries up to the first that failed, and its error. */
interface Responses {
  readonly rows: readonly Rows[];
  readonly error?: DatabaseError;
}

/** Sends queries, all at once if the connection can. */
async function send(connection: PostgresConnection, queries: readonly PostgresQuery[]): Promise<Responses> {
  const rows: Rows[] = [];
  const responses =
    connection.pipeline === true
      ? await Promise.allSettled(queries.map((query) => connection.query(query)))
      : undefined;
  for (const [index, query] of queries.entries()) {
    try {
      const response = responses?.[index];
      if (response?.status === "rejected") throw response.reason;
      const result = response?.value ?? (await connection.query(query));
      if (query.text === "COMMIT" && (result.command ?? "COMMIT") !== "COMMIT") throw notCommitted().cause;
      rows.push(result.rows);
    } catch (error) {
      return { rows, error: new DatabaseError(error) };
    }
  }
  return { rows };
}

/** Runs a task on a connection of the pool, and returns it, or closes it if it cannot be used any more. */
async function withConnection<T>(
  pool: PostgresPool,
  deadline: number,
  task: (connection: PooledConnection) => Promise<T>,
): Promise<T> {
  const pooled = await checkOut(pool, deadline);
  if (/[TE]/.test(pooled.getTransactionStatus?.() ?? "")) {
    pooled.release(true);
    throw openTransaction();
  }
  // Without a listener, a connection that is lost ends the process.
  pooled.on?.("error", ignore);
  let isReleased = false;
  const release = (close = false) => {
    if (isReleased) return;
    isReleased = true;
    if (!close) pooled.removeListener?.("error", ignore);
    pooled.release(close);
  };
  const connection: PooledConnection = {
    pipeline: pooled.pipeline === true,
    query: (query) => pooled.query(query),
    release,
  };
  try {
    const value = await task(connection);
    release();
    return value;
  } catch (error) {
    if (isReleased) throw error;
    // Another session may be able to do what this one cannot.
    const isLost =
      isWrongSession(error) || (await send(connection, [toQuery({ text: "ROLLBACK" }, deadline)])).error;
    release(Boolean(isLost));
    throw isOpenTransaction(error) ? openTransaction() : error;
  }
}

function ignore(): void {}

/** The calls that wait for a connection of a pool whose server refuses further ones: the last of their queue. */
const refused = new WeakMap<PostgresPool, Promise<unknown>>();

/** The longest pause before a server that has refused a connection is asked again. */
const MAX_REFUSED_PAUSE_MS = 50;

/**
 * Waits for a connection until the deadline. A server that refuses one has fewer than the pool would open, but one that
 * is lent can be free in a moment. So the calls then wait in their order, and none is overtaken for ever.
 */
async function checkOut(pool: PostgresPool, deadline: number): Promise<PooledConnection> {
  const before = refused.get(pool);
  if (before === undefined) {
    try {
      return await lend(pool, deadline);
    } catch (error) {
      if (!isRefused(error)) throw toStoreError(error);
    }
  }
  const lent = (refused.get(pool) ?? Promise.resolve()).then(() => lendOnceFree(pool, deadline));
  const turn = lent.then(ignore, ignore);
  refused.set(pool, turn);
  void turn.then(() => refused.get(pool) === turn && refused.delete(pool));
  // Whoever is first may have more time. It says why it was refused, which takes a pause longer.
  return settleWithin(msUntil(deadline) + 2 * MAX_REFUSED_PAUSE_MS, lent);
}

/** Asks until the server no longer refuses. */
async function lendOnceFree(pool: PostgresPool, deadline: number): Promise<PooledConnection> {
  for (let refusal: unknown; ; await sleep(Math.random() * MAX_REFUSED_PAUSE_MS)) {
    if (refusal === undefined && performance.now() >= deadline)
      throw new StoreUnavailableError(NO_CONNECTION);
    try {
      return await lend(pool, deadline);
    } catch (error) {
      if (isRefused(error)) refusal = error;
      if (!isRefused(error) || performance.now() >= deadline) throw toStoreError(refusal ?? error);
    }
  }
}

const NO_CONNECTION =
  "The database has no connection for this call: it does not respond, or the pool is too small.";

/** Asks a pool for a connection. One that comes after the deadline is returned to the pool. */
function lend(pool: PostgresPool, deadline: number): Promise<PooledConnection> {
  return new Promise((resolve, reject) => {
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      reject(new StoreUnavailableError(NO_CONNECTION));
    }, msUntil(deadline));
    pool.connect().then(
      (connection) => {
        clearTimeout(timer);
        if (isLate) connection.release();
        else resolve(connection);
      },
      (error: unknown) => {
        clearTimeout(timer);
        reject(new DatabaseError(error));
      },
    );
  });
}

/** The time after which the server ends a transaction whose client has stopped between its two round trips. */
const MAX_IDLE_MS = MAX_STORE_CALL_MS;

function beginText(deadline: number, maxLockWaitMs = Infinity): string {
  const lockTimeoutMs = Math.min(maxLockWaitMs, serverTimeoutMs(deadline));
  return `${BEGIN}; ${OWN_NAMES}; SET LOCAL lock_timeout = ${lockTimeoutMs}; ${PLAN_ONCE}`;
}

/**
 * Begins a transaction in a session that others use too. In one of theirs it fails: DEFERRABLE cannot be set after a
 * query.
 */
const BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED, NOT DEFERRABLE";

/**
 * Whatever the session or the role has set, for the time of a transaction of our own: a function or an operator is that of
 * the server, rows that a policy would hide are an error, and values arrive as they were sent.
 */
const OWN_NAMES =
  "SET LOCAL search_path = pg_catalog, pg_temp; SET LOCAL row_security = off; SET LOCAL array_nulls = on; " +
  "SET LOCAL client_encoding = 'UTF8'";

/**
 * Every row is found by its key. So a prepared statement is planned once, and by index: a plan that was made while a
 * table was empty would read all of it later.
 */
const PLAN_ONCE = "SET LOCAL plan_cache_mode = force_generic_plan; SET LOCAL enable_seqscan = off";

function msUntil(deadline: number): number {
  return Math.max(1, Math.ceil(deadline - performance.now()));
}

/** The server has to stop first: its error leaves the connection usable. */
function serverTimeoutMs(deadline: number): number {
  return Math.max(1, Math.floor(0.9 * (deadline - performance.now())));
}

/** What is read with the first statement of a transaction: in any case the schema version. */
type StateColumns = readonly [version: "value", ...others: string[]];

const OF_READ: StateColumns = ["value", "pg_is_in_recovery()"];

const STARTED_AT = "extract(epoch FROM pg_catalog.pg_postmaster_start_time())::pg_catalog.text";

/**
 * When the server last recovered from a crash of one of its processes, after which it gives identifiers again that were not
 * on disk. Its start stays the same, but it resets these statistics. Somebody can reset them too: then nobody can tell.
 */
const RECOVERED_AT = "extract(epoch FROM pg_catalog.pg_stat_get_bgwriter_stat_reset_time())";

/** Selecting this makes a commit wait for the disk, in a database that does not by default. */
export const SET_DURABLE = `set_config('synchronous_commit',
  CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, true)`;

/**
 * The identifier of a transaction, and when the server was started. Reading them also sets how the transaction is
 * committed.
 */
function columnsOfChange(durable: boolean): StateColumns {
  return [
    "value",
    "pg_current_xact_id()::text",
    STARTED_AT,
    SERVER_SECONDS,
    durable ? SET_DURABLE : "set_config('synchronous_commit', 'off', true)",
    `set_config('idle_in_transaction_session_timeout', '${MAX_IDLE_MS}', true)`,
  ];
}

/**
 * Adds the state to each row of a statement. If it returns no rows, one remains, with nothing but the state. With `isLast`,
 * the state is that after the statement, which may have waited for a lock.
 */
function withState(
  schema: string,
  { text, values = [], selected = "q.*", ...rest }: Statement,
  columns: StateColumns,
  isLast = false,
): Statement {
  const version = `(SELECT value FROM ${schema}.settings WHERE name ${IS} 'schema_version')`;
  const named = [version, ...columns.slice(1)].map((column, place) => `${column} AS s${place}`);
  const source = isLast ? "FROM (SELECT pg_catalog.count(*) FROM q) n" : "";
  const state = `SELECT ${named.join(", ")} ${source}`;
  return {
    ...rest,
    text: `WITH q AS (${text}), s AS (${state}) SELECT s.*, r.* FROM s LEFT JOIN (SELECT ${selected} FROM q) r ON true`,
    values,
  };
}

/** Separates the state from the rows, and throws unless the schema version is that of this program. */
function splitState(
  rows: Rows = [],
  { length }: StateColumns,
): { readonly state: readonly unknown[]; readonly rows: Rows } {
  const state = rows[0] ?? [];
  const version = Number(state[0] ?? 0);
  if (version !== SCHEMA_VERSION) throw wrongVersion(version);
  return { state, rows: rows.filter((row) => row[length] !== null).map((row) => row.slice(length)) };
}

/** Drivers differ in how they return a boolean. */
function isTrue(value: unknown): boolean {
  return value === true || value === "t";
}

/** The pause before the server is asked again whether a transaction was committed. */
const STATUS_INTERVAL_MS = 25;

/**
 * Asks the server whether a transaction was committed. Throws if it cannot tell before the deadline, or was started
 * since: after a failover, the same identifier can be that of another transaction.
 */
async function isCommitted(
  pool: PostgresPool,
  transaction: string,
  { startedAt, beganAt }: Readonly<Record<"startedAt" | "beganAt", unknown>>,
  deadline: number,
): Promise<boolean> {
  const text = `SELECT pg_catalog.pg_xact_status($1::pg_catalog.xid8), ${STARTED_AT}, ${RECOVERED_AT}`;
  const query = toQuery({ text, values: [transaction] }, deadline);
  let problem: unknown;
  while (performance.now() < deadline) {
    const { rows, error } = await withConnection(pool, deadline, (connection) =>
      send(connection, [query]),
    ).catch((cause: unknown) => ({ rows: [], error: cause }));
    problem = error;
    const [status, started, recoveredAt] = rows[0]?.[0] ?? [];
    if (started !== undefined && started !== startedAt) break;
    if (Number(recoveredAt ?? 0) >= Number(beganAt)) break;
    if (status === "committed" || status === "aborted") return status === "committed";
    await sleep(STATUS_INTERVAL_MS);
  }
  const message = "The connection was lost during a COMMIT. The change may have been made.";
  throw new StoreUnavailableError(message, { cause: problem });
}

/** Creates or migrates the tables, while requests go on. */
export async function migrateTables(
  pool: PostgresPool,
  { schema, onlyIfEmpty, deadline, onBlocked }: MigrationOptions,
): Promise<MigrationResult> {
  const wanted = {
    schema: quoteSchema(schema),
    tables: MIGRATED_TABLES,
    isExclusive: true,
    advisory: MIGRATION_LOCK,
  };
  return takeStrongLocks({
    deadline,
    onBlocked,
    readHolders: () => readCatalogs(pool, holdersStatement(wanted), deadline),
    attempt: (lockWaitMs) =>
      runTransaction(pool, deadline, lockWaitMs, async (execute) => {
        const run = async (text: string) => execute({ text });
        return migrate(run, schema, { onlyIfEmpty });
      }),
  });
}

interface MigrationOptions {
  /** The name of the schema, without quotation marks. */
  readonly schema: string;
  readonly onlyIfEmpty: boolean;
  readonly deadline: number;
  readonly onBlocked?: ((blockers: readonly Blocker[]) => void) | undefined;
}

/** Reads the catalogues of the server, and no table of ours. */
export function readCatalogs(pool: PostgresPool, statement: Statement, deadline: number): Promise<Rows> {
  return runTransaction(pool, deadline, Infinity, (execute) => execute(statement));
}

/** Runs a task in a transaction, whose statements it sends one after another. */
async function runTransaction<T>(
  pool: PostgresPool,
  deadline: number,
  maxLockWaitMs: number,
  task: (execute: (statement: Statement) => Promise<Rows>) => Promise<T>,
): Promise<T> {
  return withConnection(pool, deadline, async (connection) => {
    const execute = async (statement: Statement) => {
      const { rows, error } = await send(connection, [toQuery(statement, deadline)]);
      if (error !== undefined) throw error;
      return rows[0] ?? [];
    };
    await execute({ text: beginText(deadline, maxLockWaitMs) });
    const result = await task(execute);
    await execute({ text: "COMMIT" });
    return result;
  }).catch((error: unknown) => {
    throw toStoreError(error);
  });
}

/** One statement that does what several do that write to different tables, and return nothing. */
export function combined(statements: readonly Statement[]): readonly Statement[] {
  const values: unknown[] = [];
  const texts = statements.map((statement) => {
    const offset = values.length;
    values.push(...(statement.values ?? []));
    // The name of a schema, which is quoted, can contain what looks like a place.
    return statement.text.replaceAll(/"[^"]*"|\$(\d+)/g, (found, place?: string) =>
      place === undefined ? found : `$${Number(place) + offset}`,
    );
  });
  const last = texts.pop();
  if (last === undefined) return [];
  const others = texts.map((text, index) => `w${index} AS (${text})`);
  return [{ text: others.length === 0 ? last : `WITH ${others.join(", ")} ${last}`, values }];
}
