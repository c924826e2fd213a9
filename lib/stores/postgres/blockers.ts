/** Strong locks beside transactions of others: who holds a lock that a transaction waits for, and how it is taken. */
import { setTimeout as sleep } from "node:timers/promises";
import { isStoreUnavailable, StoreUnavailableError } from "../../core/errors.ts";
import type { Rows, Statement } from "./database.ts";
import { DatabaseError } from "./errors.ts";
import { MIGRATION_LOCK } from "./schema.ts";

/** A session or a prepared transaction that holds a lock which another transaction waits for. */
export interface Blocker {
  /** The process of its session on the server. Missing for a transaction that was prepared. */
  readonly pid?: number;
  /** What it calls itself, such as `psql`. */
  readonly application?: string;
  /** Its role. Missing for a process of the server, such as autovacuum. */
  readonly user?: string;
  /** What it does, such as `idle in transaction`. Missing if this role may not see it, like the time and the query. */
  readonly state?: string;
  /** When its transaction began. */
  readonly since?: string;
  /** Its last query, without the end of a long one. For a prepared transaction, the command that ends it. */
  readonly query?: string;
}

const MAX_QUERY_CHARACTERS = 200;

/**
 * The longest wait for a strong lock. Requests wait behind it, so it is short; but autovacuum gives way only to who has
 * waited for the server's `deadlock_timeout`, a second by default.
 */
export const LOCK_WAIT_MS = 1_500;

/** The shortest pause until the next attempt, in which the requests that waited behind one end. */
const MIN_PAUSE_MS = 500;

/** The modes of locks that readers hold. Only the strongest lock waits for them. */
const OF_READERS = ["AccessShareLock", "RowShareLock"];

interface WantedLocks {
  /** The quoted name of the schema. */
  readonly schema: string;
  readonly tables: readonly string[];
  /** False if a lock is wanted that readers do not hinder. */
  readonly isExclusive: boolean;
}

/**
 * Reads who held such locks, or that of a migration, before the attempt. A request that waited behind it has them since.
 * A role may not see when the transactions of others began: those are named, too.
 */
export function blockersStatement({ schema, tables, isExclusive }: WantedLocks): Statement {
  return {
    text: `SELECT DISTINCT ON (1) coalesce(l.pid::text, l.virtualtransaction),
        l.pid, a.application_name, a.usename, coalesce(a.state, CASE WHEN l.pid IS NULL THEN 'prepared' END),
        pg_catalog.to_char(coalesce(a.xact_start, p.prepared) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
        coalesce(a.query, pg_catalog.format('ROLLBACK PREPARED %L', p.gid))
      FROM pg_catalog.pg_locks l
        JOIN pg_catalog.pg_database d ON d.oid = l.database AND d.datname = pg_catalog.current_database()
        LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid
        LEFT JOIN pg_catalog.pg_locks t ON l.pid IS NULL AND t.pid IS NULL AND t.locktype = 'transactionid'
          AND t.virtualtransaction = l.virtualtransaction
        LEFT JOIN pg_catalog.pg_prepared_xacts p ON p.transaction = t.transactionid
      WHERE l.granted AND l.pid IS DISTINCT FROM pg_catalog.pg_backend_pid()
        AND (coalesce(a.xact_start, a.state_change, p.prepared) > pg_catalog.clock_timestamp() - interval '${LOCK_WAIT_MS + MIN_PAUSE_MS} ms') IS NOT TRUE
        AND (l.locktype = 'relation' AND l.mode <> ALL ($3::text[]) AND l.relation IN (
            SELECT oid FROM pg_catalog.pg_class
            WHERE relnamespace = pg_catalog.to_regnamespace($1) AND relname = ANY ($2::text[]))
          OR l.locktype = 'advisory' AND l.classid = 0 AND l.objid = ${MIGRATION_LOCK} AND l.objsubid = 1)
      ORDER BY 1`,
    values: [schema, tables, isExclusive ? [] : OF_READERS],
    isRare: true,
  };
}

function toBlocker([, pid, application, user, state, since, query]: readonly unknown[]): Blocker {
  const shown = `${query ?? ""}`.replaceAll(/\s+/g, " ").trim();
  const isCut = shown.length > MAX_QUERY_CHARACTERS;
  return {
    ...(pid !== null && { pid: Number(pid) }),
    ...(application !== null && application !== "" && { application: `${application}` }),
    ...(user !== null && { user: `${user}` }),
    ...(state !== null && { state: `${state}` }),
    ...(since !== null && { since: `${since}` }),
    ...(shown !== "" && { query: isCut ? `${shown.slice(0, MAX_QUERY_CHARACTERS)}…` : shown }),
  };
}

/** A blocker in words: `pid 4711 (psql, role jo, idle in transaction since 2026-11-20T12:00:00Z): SELECT …`. */
export function describeBlocker({ pid, application, user, state, since, query }: Blocker): string {
  const session = [
    ...(application === undefined ? [] : [application]),
    ...(user === undefined ? [] : [`role ${user}`]),
    ...(state === undefined ? [] : [since === undefined ? state : `${state} since ${since}`]),
  ].join(", ");
  const subject = pid === undefined ? "a prepared transaction" : `pid ${pid}`;
  return `${subject}${session && ` (${session})`}${query === undefined ? "" : `: ${query}`}`;
}

/** `lock_not_available`, and `deadlock_detected` on a server that looks for one sooner. */
const BLOCKED = ["55P03", "40P01"];

function isBlocked(error: unknown): error is StoreUnavailableError {
  if (!isStoreUnavailable(error)) return false;
  return error.cause instanceof DatabaseError && BLOCKED.includes(error.cause.sqlState);
}

export interface StrongLocks<T> {
  /** The time until which it is tried, as that of `performance.now()`. */
  readonly deadline: number;
  /** Runs the transaction, which waits for a lock for at most `LOCK_WAIT_MS`. */
  attempt(): Promise<T>;
  /** Reads who holds the locks that the transaction takes, with `blockersStatement`. */
  readBlockers(): Promise<Rows>;
  /** Called with those who block it, after the first attempt and when others do. */
  onBlocked?: ((blockers: readonly Blocker[]) => void) | undefined;
}

/**
 * Runs a transaction that takes strong locks. It gives up soon if it has to wait for them, so that requests go on, and
 * tries again. Once its time is over, it rejects, and the error names those who hold the locks.
 */
export async function takeStrongLocks<T>(locks: StrongLocks<T>): Promise<T> {
  for (let reported = ""; ; ) {
    try {
      return await locks.attempt();
    } catch (error) {
      if (!isBlocked(error)) throw error;
      const rows = await locks.readBlockers();
      const blockers = rows.map(toBlocker);
      const names = rows.map(([transaction]) => transaction).join();
      if (names !== reported && names !== "") locks.onBlocked?.(blockers);
      reported = names;
      const pauseMs = MIN_PAUSE_MS * (1 + Math.random());
      if (performance.now() + pauseMs + LOCK_WAIT_MS >= locks.deadline) throw stillBlocked(blockers, error);
      await sleep(pauseMs);
    }
  }
}

function stillBlocked(blockers: readonly Blocker[], { cause }: StoreUnavailableError): StoreUnavailableError {
  const message =
    "Other sessions hold locks that this needs, and nothing was changed. Let their transactions end, or end them with " +
    "SELECT pg_terminate_backend(PID), and repeat this.";
  if (blockers.length === 0) return new StoreUnavailableError(message, { cause });
  const named = new Error(blockers.map(describeBlocker).join("; "), { cause });
  return new StoreUnavailableError(message, { cause: named });
}
