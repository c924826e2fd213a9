import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { invalidInput, StoreUnavailableError } from "../../core/errors.ts";
import { MAX_STORE_CALL_MS } from "../store.ts";
import {
  DatabaseError,
  isForeignSession,
  isMissingTable,
  isOutsideTransaction,
  isRepeatable,
  toStoreError,
} from "./errors.ts";
import {
  type MigrationResult,
  migrate,
  missingTables,
  quoteSchema,
  SCHEMA_VERSION,
  wrongVersion,
} from "./schema.ts";

/** The time of a call in the database, in milliseconds. The rest of `MAX_STORE_CALL_MS` is for its own time. */
export const CALL_TIMEOUT_MS = MAX_STORE_CALL_MS - 500;

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
  query(query: PostgresQuery): Promise<{ readonly rows: readonly (readonly unknown[])[] }>;
}

/** The connection of a pool. */
export interface PooledConnection extends PostgresConnection {
  /** Returns the connection to the pool, or closes it. */
  release(close?: boolean): void;
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
export interface Decided<T> {
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
   * if it was committed. With `isAlone` it is sent without BEGIN: the server then chooses its isolation and its plan.
   * `elapsedMs` is the time of the statement, without the wait for a connection.
   */
  changeAtOnce(
    statement: Statement,
    options: { readonly isAlone: boolean; readonly maxLockWaitMs: number; readonly since: number },
  ): Promise<{ readonly rows: Rows; readonly elapsedMs: number }>;
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
        else if (isRepeatable(error) && hasTime) await sleep(Math.random() * 2 ** attempt);
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
          const text = `BEGIN READ ONLY; SET LOCAL statement_timeout = ${serverTimeoutMs(deadline)}`;
          const statements = [{ text }, withState(quoted, statement, VERSION), { text: "ROLLBACK" }];
          const { rows, error } = await send(connection, statements.map(query));
          if (error !== undefined) throw error;
          return splitState(rows[1], VERSION).rows;
        }),
      ),

    changeAtOnce: (statement, { isAlone, maxLockWaitMs, since }) =>
      track(
        run(since, async (connection, query, deadline) => {
          const begin = { text: beginText(deadline, maxLockWaitMs) };
          const statements = isAlone ? [statement] : [begin, statement, { text: "COMMIT" }];
          const sentAt = performance.now();
          const { rows, error } = await send(connection, statements.map(query));
          if (error !== undefined) throw error;
          return { rows: rows[isAlone ? 0 : 1] ?? [], elapsedMs: performance.now() - sentAt };
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
          const [, transaction, startedAt] = state;
          if (!(await isCommitted(pool, `${transaction}`, startedAt, deadline))) throw error;
          return result(rows.length < writes.length ? undefined : rows);
        }),
      ),
  };
}

/**
 * The same tables in a transaction of the caller, who commits it or rolls it back. The server ends a statement that takes
 * too long, and with it the transaction: a statement that still ran could be committed after its call has rejected.
 */
export function databaseOf(database: Database, connection: PostgresConnection): Database {
  const { schema } = database;
  const run = async (statements: readonly Statement[], deadline: number): Promise<readonly Rows[]> => {
    if (statements.length === 0) return [];
    const limited = [{ text: limitText(deadline) }, ...statements, { text: RESTORE_LIMIT }];
    const queries = limited.map((statement) => toQuery(statement, deadline));
    const { rows, error } = await send(connection, queries);
    if (isOutsideTransaction(error)) throw invalidInput("client", NO_TRANSACTION);
    if (error !== undefined) throw toStoreError(error);
    return rows.slice(1, -1);
  };
  /** Makes a call once those before it have settled: otherwise both would decide on the same rows. */
  function inTurn<T>(call: (deadline: number) => Promise<T>): Promise<T> {
    const deadline = performance.now() + CALL_TIMEOUT_MS;
    const result = (turns.get(connection) ?? Promise.resolve()).then(() => call(deadline));
    turns.set(connection, result.catch(ignore));
    return result;
  }
  return {
    ...database,
    read: (statement) =>
      inTurn(async (deadline) => {
        const [rows] = await run([withState(schema, statement, OF_CALLER)], deadline);
        return splitState(rows, OF_CALLER).rows;
      }),
    change: ({ first: [first, ...others], decide }) =>
      inTurn(async (deadline) => {
        const [firstRows, ...rows] = await run([withState(schema, first, OF_CALLER), ...others], deadline);
        const { writes, result } = decide([splitState(firstRows, OF_CALLER).rows, ...rows]);
        return result(await run(writes.map(inTransaction), deadline));
      }),
  };
}

const NO_TRANSACTION =
  "There is no transaction, and nothing was written. Begin one on this client with BEGIN, await each call, and end it with " +
  "COMMIT. Give a client, not a pool, whose queries use different connections.";

/** The last call on each connection of a caller. */
const turns = new WeakMap<PostgresConnection, Promise<unknown>>();

/** Limits the next statements of the transaction, unless the caller has set a lower limit. */
function limitText(deadline: number): string {
  const setMs = "extract(epoch FROM current_setting('statement_timeout')::interval) * 1000";
  return `SELECT set_config('store_orders.statement_timeout', current_setting('statement_timeout'), true),
    set_config('statement_timeout', least(nullif(${setMs}, 0), ${serverTimeoutMs(deadline)})::int::text, true)`;
}

const RESTORE_LIMIT =
  "SELECT set_config('statement_timeout', current_setting('store_orders.statement_timeout'), true)";

/** Fails, and with it its statement, unless that is in the transaction in which the limit was set. */
const IN_TRANSACTION = "current_setting('store_orders.statement_timeout')::interval";

const OF_CALLER: StateColumns = ["value", IN_TRANSACTION];

/** A write with that condition. One that only reads needs none. */
function inTransaction(write: Statement): Statement {
  if (write.text.startsWith("SELECT")) return write;
  return { ...write, text: `WITH w AS (${write.text}) SELECT ${IN_TRANSACTION}` };
}

type ToQuery = (statement: Statement) => PostgresQuery;

/** The names of prepared statements by their SQL, the same in every process. */
const names = new Map<string, string>();

function toQuery(
  { text, values, isRare = false }: Statement,
  deadline: number,
  canPrepare = false,
): PostgresQuery {
  const query: PostgresQuery = {
    text,
    rowMode: "array",
    types: AS_STRINGS,
    query_timeout: Math.max(1, Math.ceil(deadline - performance.now())),
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
      rows.push((response?.value ?? (await connection.query(query))).rows);
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
    // Fails at once on a connection that is lost.
    const rolledBack = await send(connection, [toQuery({ text: "ROLLBACK" }, deadline)]);
    release(rolledBack.error !== undefined);
    throw error;
  }
}

function ignore(): void {}

/** Waits for a connection until the deadline. One that comes later is returned to the pool. */
function checkOut(pool: PostgresPool, deadline: number): Promise<PooledConnection> {
  return new Promise((resolve, reject) => {
    let isLate = false;
    const timer = setTimeout(
      () => {
        isLate = true;
        const message =
          "The database has no connection for this call: it does not respond, or the pool is too small.";
        reject(new StoreUnavailableError(message));
      },
      Math.max(1, deadline - performance.now()),
    );
    pool.connect().then(
      (connection) => {
        clearTimeout(timer);
        if (isLate) connection.release();
        else resolve(connection);
      },
      (error: unknown) => {
        clearTimeout(timer);
        reject(toStoreError(new DatabaseError(error)));
      },
    );
  });
}

/** The time after which the server ends a transaction whose client has stopped between its two round trips. */
const MAX_IDLE_MS = MAX_STORE_CALL_MS;

function beginText(deadline: number, maxLockWaitMs = Infinity): string {
  const lockTimeoutMs = Math.min(maxLockWaitMs, serverTimeoutMs(deadline));
  return `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = ${lockTimeoutMs}; ${PLAN_ONCE}`;
}

/**
 * Every row is found by its key. So a prepared statement is planned once, and by index: a plan that was made while a
 * table was empty would read all of it later.
 */
const PLAN_ONCE = "SET LOCAL plan_cache_mode = force_generic_plan; SET LOCAL enable_seqscan = off";

/** The server has to stop first: its error leaves the connection usable. */
function serverTimeoutMs(deadline: number): number {
  return Math.max(1, Math.floor(0.9 * (deadline - performance.now())));
}

/** What is read with the first statement of a transaction: in any case the schema version. */
type StateColumns = readonly [version: "value", ...others: string[]];

const VERSION: StateColumns = ["value"];

const STARTED_AT = "extract(epoch FROM pg_postmaster_start_time())::text";

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
    durable ? SET_DURABLE : "set_config('synchronous_commit', 'off', true)",
    `set_config('idle_in_transaction_session_timeout', '${MAX_IDLE_MS}', true)`,
  ];
}

/** Adds the state to each row of a statement. If it returns no rows, one remains, with nothing but the state. */
function withState(
  schema: string,
  { text, values = [], selected = "q.*", ...rest }: Statement,
  columns: StateColumns,
): Statement {
  const named = columns.map((column, place) => `${column} AS s${place}`).join(", ");
  const state = `SELECT ${named} FROM ${schema}.settings WHERE name = 'schema_version'`;
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

/** The pause before the server is asked again whether a transaction was committed. */
const STATUS_INTERVAL_MS = 25;

/**
 * Asks the server whether a transaction was committed. Throws if it cannot tell before the deadline, or was started
 * since: after a failover, the same identifier can be that of another transaction.
 */
async function isCommitted(
  pool: PostgresPool,
  transaction: string,
  startedAt: unknown,
  deadline: number,
): Promise<boolean> {
  const text = `SELECT pg_xact_status($1::text::xid8), ${STARTED_AT}`;
  const query = toQuery({ text, values: [transaction] }, deadline);
  let problem: unknown;
  while (performance.now() < deadline) {
    const { rows, error } = await withConnection(pool, deadline, (connection) =>
      send(connection, [query]),
    ).catch((cause: unknown) => ({ rows: [], error: cause }));
    problem = error;
    const [status, started] = rows[0]?.[0] ?? [];
    if (started !== undefined && started !== startedAt) break;
    if (status === "committed" || status === "aborted") return status === "committed";
    await sleep(STATUS_INTERVAL_MS);
  }
  const message = "The connection was lost during a COMMIT. The change may have been made.";
  throw new StoreUnavailableError(message, { cause: problem });
}

/** Creates or migrates the tables on a connection of the pool. */
export async function migrateTables(
  pool: PostgresPool,
  { schema, onlyIfEmpty, deadline }: MigrationOptions,
): Promise<MigrationResult> {
  return withConnection(pool, deadline, async (connection) => {
    const execute = async (text: string) => {
      const { rows, error } = await send(connection, [toQuery({ text }, deadline)]);
      if (error !== undefined) throw error;
      return rows[0] ?? [];
    };
    await execute(beginText(deadline));
    const result = await migrate(execute, schema, { onlyIfEmpty });
    await execute("COMMIT");
    return result;
  }).catch((error: unknown) => {
    throw toStoreError(error);
  });
}

interface MigrationOptions {
  readonly schema: string;
  readonly onlyIfEmpty: boolean;
  readonly deadline: number;
}

/** One statement that does what several do that write to different tables, and return nothing. */
export function combined(statements: readonly Statement[]): readonly Statement[] {
  const values: unknown[] = [];
  const texts = statements.map((statement) => {
    const offset = values.length;
    values.push(...(statement.values ?? []));
    return statement.text.replaceAll(/\$(\d+)/g, (_, place: string) => `$${Number(place) + offset}`);
  });
  const last = texts.pop();
  if (last === undefined) return [];
  const others = texts.map((text, index) => `w${index} AS (${text})`);
  return [{ text: others.length === 0 ? last : `WITH ${others.join(", ")} ${last}`, values }];
}
