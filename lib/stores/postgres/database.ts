import { setTimeout as sleep } from "node:timers/promises";
import { createPending } from "../../core/concurrency.ts";
import { StoreUnavailableError } from "../../core/errors.ts";
import { backoffMs, CALL_TIMEOUT_MS, MAX_STORE_CALL_MS } from "../../core/time.ts";
import { type PostgresPool, withConnection } from "./connection.ts";
import { DatabaseError, isMissingTable, isRepeatable, standby, toStoreError } from "./errors.ts";
import { type MigrationResult, migrate, quoteSchema, SCHEMA_VERSION, wrongVersion } from "./schema.ts";
import type { Rows, Statement } from "./statement.ts";
import { LOCK_WAIT_MS, type StrongLockOptions, takeStrongLocks } from "./strong-locks.ts";

/** For SQL in a session of a caller. `unnest` of several arrays is always that of the server. */
export const IS = "OPERATOR(pg_catalog.=)";
export const TEXTS = "pg_catalog.text[]";

/** One transaction: it reads and locks, decides, and writes. So it takes two round trips. */
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

interface Decided<T> {
  readonly writes?: readonly Statement[];
  /** The result, from the rows of `writes`. They are missing if the transaction was committed and its response lost. */
  result(rows: readonly Rows[] | undefined): T;
}

export type Database = ReturnType<typeof openDatabase>;

const MAX_ATTEMPTS = 4;

/** With `existing`, or once they were found, no tables are created: somebody is restoring the empty schema. */
export function openDatabase(
  pool: PostgresPool,
  { schema, existing }: { readonly schema: string; readonly existing: boolean },
) {
  const quoted = quoteSchema(schema);
  let hadTables = existing;
  let isClosed = false;
  let creating: Promise<unknown> | undefined;
  const { track, settled } = createPending();

  async function createTables(deadline: number): Promise<void> {
    const options = { schema, existing: hadTables, onlyIfEmpty: true, deadline };
    creating ??= migrateTables(pool, options).finally(() => {
      creating = undefined;
    });
    await creating;
  }

  const call = <T>(since: number, task: (deadline: number) => Promise<T>) => track(repeat(since, task));

  async function repeat<T>(since: number, task: (deadline: number) => Promise<T>): Promise<T> {
    if (isClosed) throw new StoreUnavailableError("The store was closed.");
    const deadline = since + CALL_TIMEOUT_MS;
    for (let attempt = 1; ; attempt++) {
      try {
        const result = await task(deadline);
        hadTables = true;
        return result;
      } catch (error) {
        const hasTime = attempt < MAX_ATTEMPTS && performance.now() < deadline;
        if (isMissingTable(error) && attempt === 1) await createTables(deadline);
        else if (isRepeatable(error) && hasTime) await sleep(backoffMs(attempt, 1, Infinity));
        else throw toStoreError(error);
      }
    }
  }

  return {
    schema: quoted,
    track,
    /** Resolves when no call is pending. Every later one rejects. */
    async close() {
      await settled();
      isClosed = true;
    },
    /** The first column of the rows must not be null. */
    read: (statement: Statement) =>
      call(performance.now(), (deadline) => read(pool, quoted, statement, deadline)),
    /** Takes one round trip. It is repeated if the connection is lost, also if it was committed. */
    changeAtOnce: (statement: Statement, maxLockWaitMs: number, since: number) =>
      call(since, (deadline) => sendAtOnce(pool, statement, deadline, maxLockWaitMs)),
    /** `since` is the time at which the caller began to wait, from `performance.now()`. */
    change: <T>(work: Work<T>, since = performance.now()) =>
      call(since, (deadline) => change(pool, quoted, work, deadline)),
  };
}

export function write({ change }: Database, statement: Statement, durable = false): Promise<Rows> {
  return change({ durable, first: [statement], decide: ([rows = []]) => ({ result: () => rows }) });
}

/** Reads in a transaction, so that the server ends the statement too when the caller no longer waits for it. */
function read(pool: PostgresPool, schema: string, statement: Statement, deadline: number): Promise<Rows> {
  return withConnection(pool, deadline, async (send) => {
    const text = `${BEGIN}, READ ONLY; ${OWN_NAMES}; SET LOCAL statement_timeout = ${serverTimeoutMs(deadline)}`;
    const [, rows] = await send({ text }, withState(schema, statement, OF_READ), { text: "ROLLBACK" });
    const { state, rows: found } = splitState(rows, OF_READ);
    if (isTrue(state[0])) throw standby();
    return found;
  });
}

/** Reads and decides, then writes and commits. If COMMIT was not confirmed, the server is asked whether it was done. */
async function change<T>(pool: PostgresPool, schema: string, work: Work<T>, deadline: number): Promise<T> {
  const columns = ofChange(work.durable);
  const [first, ...others] = work.first;
  let sent = undefined as { readonly state: readonly unknown[]; readonly decided: Decided<T> } | undefined;
  try {
    return await withConnection(pool, deadline, async (send) => {
      const statements = [withState(schema, first, columns), ...others];
      const [, rows, ...more] = await send(begin(deadline, work.maxLockWaitMs), ...statements);
      const { state, rows: firstRows } = splitState(rows, columns);
      const decided = work.decide([firstRows, ...more]);
      sent = { state, decided };
      const written = await send(...(decided.writes ?? []), COMMIT);
      return decided.result(written.slice(0, -1));
    });
  } catch (error) {
    if (sent === undefined || !(error instanceof DatabaseError) || error.isRolledBack) throw error;
    const { state, decided } = sent;
    if (!(await isCommitted(pool, schema, work.durable, state, deadline))) throw error;
    return decided.result(error.rows.length < (decided.writes?.length ?? 0) ? undefined : error.rows);
  }
}

const STARTED_AT = "extract(epoch FROM pg_catalog.pg_postmaster_start_time())::pg_catalog.text";

/**
 * When the server last recovered from a crash of one of its processes, after which it gives identifiers again that were
 * not on disk. Its start stays the same, but it resets these statistics. If somebody resets them, nobody can tell.
 */
const RECOVERED_AT = "extract(epoch FROM pg_catalog.pg_stat_get_bgwriter_stat_reset_time())";

const STATUS_INTERVAL_MS = 25;

/**
 * Asks the server whether a transaction was committed whose COMMIT was not confirmed. Throws if it cannot tell before the
 * deadline, or was started since: after a failover, the same identifier can be that of another transaction. The server
 * also calls one committed that a synchronous standby lacks: so a durable one is only done with a later one that waited.
 */
async function isCommitted(
  pool: PostgresPool,
  schema: string,
  durable: boolean,
  [transaction, startedAt, beganAt]: readonly unknown[],
  deadline: number,
): Promise<boolean> {
  const text = `SELECT pg_catalog.pg_xact_status($1::pg_catalog.xid8), ${STARTED_AT}, ${RECOVERED_AT}, ${SET_DURABLE}`;
  // Each call can have another session, which has not prepared the statement.
  const question = { text, values: [`${transaction}`], isRare: true };
  const ask = () =>
    withConnection(pool, deadline, async (send) => {
      const [, [[status, started, recoveredAt] = []] = []] = await send(begin(deadline), question);
      const isSame = started === startedAt && Number(recoveredAt ?? 0) < Number(beganAt);
      const mustWait = isSame && durable && status === "committed";
      await send(...(mustWait ? [writeNothing(schema), COMMIT] : [{ text: "ROLLBACK" }]));
      return isSame ? status : "unknown";
    });
  let problem: unknown;
  for (let status: unknown; status !== "unknown" && performance.now() < deadline; ) {
    try {
      status = await ask();
      if (status === "committed" || status === "aborted") return status === "committed";
    } catch (error) {
      problem = error;
    }
    await sleep(STATUS_INTERVAL_MS);
  }
  throw new StoreUnavailableError("A COMMIT was not confirmed. The change may have been made.", {
    cause: problem,
  });
}

/**
 * Locks a row, which nobody waits for: a transaction that writes nothing to the log does not wait for a standby when it
 * is committed, although what it has read may be on this server only.
 */
export function writeNothing(schema: string): Statement {
  return { text: `SELECT FROM ${schema}.settings WHERE name ${IS} 'schema_version' FOR KEY SHARE` };
}

async function sendAtOnce(
  pool: PostgresPool,
  statement: Statement,
  deadline: number,
  maxLockWaitMs?: number,
): Promise<Rows> {
  const statements = [begin(deadline, maxLockWaitMs), statement, COMMIT];
  const [, rows = []] = await withConnection(pool, deadline, (send) => send(...statements));
  return rows;
}

/** The time after which the server ends a transaction whose client has stopped between its two round trips. */
const MAX_IDLE_MS = MAX_STORE_CALL_MS;

function begin(deadline: number, maxLockWaitMs = Infinity): Statement {
  const lockTimeoutMs = Math.min(maxLockWaitMs, serverTimeoutMs(deadline));
  const settings = `SET LOCAL lock_timeout = ${lockTimeoutMs}; SET LOCAL client_min_messages = warning`;
  return { text: `${BEGIN}; ${OWN_NAMES}; ${settings}; ${PLAN_ONCE}` };
}

const COMMIT = { text: "COMMIT" };

/** In a transaction of others it fails: DEFERRABLE cannot be set after a query. */
const BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED, NOT DEFERRABLE";

/**
 * Whatever the session or the role has set: names are those of the server, rows that a policy would hide are an error,
 * and values arrive as they were sent.
 */
const OWN_NAMES =
  "SET LOCAL search_path = pg_catalog, pg_temp; SET LOCAL row_security = off; SET LOCAL array_nulls = on; " +
  "SET LOCAL client_encoding = 'UTF8'";

/** Every row is found by its key. A plan that was made while a table was empty would read all of it later. */
const PLAN_ONCE = "SET LOCAL plan_cache_mode = force_generic_plan; SET LOCAL enable_seqscan = off";

/** The server has to stop first: its error leaves the connection usable. */
export function serverTimeoutMs(deadline: number): number {
  return Math.max(1, Math.floor(0.9 * (deadline - performance.now())));
}

const OF_READ = ["pg_is_in_recovery()"];

export const SERVER_SECONDS = "extract(epoch FROM pg_catalog.clock_timestamp())";

/** Selecting this makes a commit wait for the disk, in a database that does not by default. */
export const SET_DURABLE = `set_config('synchronous_commit',
  CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, true)`;

/** The first three are what `isCommitted` takes. Reading the others sets how the transaction is committed. */
const ofChange = (durable: boolean) => [
  "pg_current_xact_id()::text",
  STARTED_AT,
  SERVER_SECONDS,
  durable ? SET_DURABLE : "set_config('synchronous_commit', 'off', true)",
  `set_config('idle_in_transaction_session_timeout', '${MAX_IDLE_MS}', true)`,
];

/** If there is no row, the columns remain. With `isLast`, they are read after the statement, and its wait for a lock. */
export function withState(
  schema: string,
  { text, values = [], selected = "q.*", ...rest }: Statement,
  columns: readonly string[],
  isLast = false,
): Statement {
  const version = `(SELECT value FROM ${schema}.settings WHERE name ${IS} 'schema_version')`;
  const named = [version, ...columns].map((column, place) => `${column} AS s${place}`);
  const source = isLast ? "FROM (SELECT pg_catalog.count(*) FROM q) n" : "";
  const state = `SELECT ${named.join(", ")} ${source}`;
  return {
    ...rest,
    text: `WITH q AS (${text}), s AS (${state}) SELECT s.*, r.* FROM s LEFT JOIN (SELECT ${selected} FROM q) r ON true`,
    values,
  };
}

/** Separates the columns from the rows, and throws unless the schema version is that of this program. */
export function splitState(rows: Rows = [], { length }: readonly string[]) {
  const [version, ...state] = rows[0] ?? [];
  if (Number(version ?? 0) !== SCHEMA_VERSION) throw wrongVersion(Number(version ?? 0));
  const found = rows.filter((row) => row[length + 1] !== null).map((row) => row.slice(length + 1));
  return { state, rows: found };
}

/** Drivers differ in how they return a boolean. */
export const isTrue = (value: unknown): boolean => value === true || value === "t";

/** `schema` is the name without quotation marks. */
export async function migrateTables(
  pool: PostgresPool,
  options: StrongLockOptions & {
    readonly schema: string;
    readonly existing?: boolean;
    readonly onlyIfEmpty: boolean;
  },
): Promise<MigrationResult> {
  const { schema, deadline } = options;
  const attempt = () =>
    withConnection(pool, deadline, async (send) => {
      await send(begin(deadline, LOCK_WAIT_MS));
      const result = await migrate(async (text) => (await send({ text }))[0] ?? [], schema, options);
      await send(COMMIT);
      return result;
    }).catch(throwStoreError);
  return takeStrongLocks(attempt, options);
}

export function readCatalogs(pool: PostgresPool, statement: Statement, deadline: number): Promise<Rows> {
  return sendAtOnce(pool, statement, deadline).catch(throwStoreError);
}

function throwStoreError(error: unknown): never {
  throw toStoreError(error);
}
