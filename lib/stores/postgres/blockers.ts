/** Strong locks beside transactions of others: who holds a lock that a transaction waits for, and how it is taken. */
import { setTimeout as sleep } from "node:timers/promises";
import { isStoreUnavailable, StoreUnavailableError } from "../../core/errors.ts";
import type { Rows, Statement } from "./database.ts";
import { DatabaseError } from "./errors.ts";

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

/** The modes of locks that readers hold. Only the strongest lock waits for them. */
const OF_READERS = ["AccessShareLock", "RowShareLock"];

interface WantedLocks {
  /** The quoted name of the schema. */
  readonly schema: string;
  readonly tables: readonly string[];
  /** False if a lock is wanted that readers do not hinder. */
  readonly isExclusive: boolean;
  readonly advisory?: number;
}

/**
 * Reads who holds such locks. The first column tells apart what holds one, and the second is the server's
 * `deadlock_timeout` in milliseconds.
 */
export function holdersStatement({ schema, tables, isExclusive, advisory }: WantedLocks): Statement {
  return {
    text: `SELECT DISTINCT ON (1) l.identity, pg_catalog.date_part('epoch', current_setting('deadlock_timeout')::interval) * 1000,
        l.pid, a.application_name, a.usename, coalesce(a.state, CASE WHEN l.pid IS NULL THEN 'prepared' END),
        pg_catalog.to_char(coalesce(a.xact_start, a.state_change, p.prepared) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
        coalesce(a.query, pg_catalog.format('ROLLBACK PREPARED %L', p.gid))
      FROM (SELECT *, locktype || ' ' || CASE WHEN locktype = 'advisory' AND pid IS NOT NULL THEN pid::text
          ELSE virtualtransaction END AS identity FROM pg_catalog.pg_locks) l
        JOIN pg_catalog.pg_database d ON d.oid = l.database AND d.datname = pg_catalog.current_database()
        LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid
        LEFT JOIN pg_catalog.pg_locks t ON l.pid IS NULL AND t.pid IS NULL AND t.locktype = 'transactionid'
          AND t.virtualtransaction = l.virtualtransaction
        LEFT JOIN pg_catalog.pg_prepared_xacts p ON p.transaction = t.transactionid
      WHERE l.granted AND l.pid IS DISTINCT FROM pg_catalog.pg_backend_pid()
        AND (l.locktype = 'relation' AND l.mode <> ALL ($3::text[]) AND l.relation IN (
            SELECT oid FROM pg_catalog.pg_class
            WHERE relnamespace = pg_catalog.to_regnamespace($1) AND relname = ANY ($2::text[]))
          OR l.locktype = 'advisory' AND l.classid = 0 AND l.objid = $4::bigint AND l.objsubid = 1)
      ORDER BY 1`,
    values: [schema, tables, isExclusive ? [] : OF_READERS, advisory ?? null],
    isRare: true,
  };
}

interface Holder extends Blocker {
  readonly identity: string;
  readonly deadlockTimeoutMs: number;
}

function toHolder(row: readonly unknown[]): Holder {
  const [identity, timeoutMs, pid, application, user, state, since, query] = row;
  const shown = `${query ?? ""}`.replaceAll(/\s+/g, " ").trim();
  const isCut = shown.length > MAX_QUERY_CHARACTERS;
  return {
    identity: `${identity}`,
    deadlockTimeoutMs: Number(timeoutMs),
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

/** Requests wait behind a lock that is waited for. So each attempt waits for a short time, in milliseconds. */
const LOCK_WAIT_MS = 500;

/** `lock_not_available`, and `deadlock_detected` on a server that looks for one sooner. */
const BLOCKED = ["55P03", "40P01"];

function isBlocked(error: unknown): error is StoreUnavailableError {
  if (!isStoreUnavailable(error)) return false;
  return error.cause instanceof DatabaseError && BLOCKED.includes(error.cause.sqlState);
}

export interface StrongLocks<T> {
  /** The time until which it is tried, as that of `performance.now()`. */
  readonly deadline: number;
  /** Runs the transaction, whose longest wait for a lock is given in milliseconds. */
  attempt(lockWaitMs: number): Promise<T>;
  /** Reads who holds the locks that the transaction takes, with `holdersStatement`. */
  readHolders(): Promise<Rows>;
  /** Called with those who block it, after the first attempt and when others do. */
  onBlocked?: ((blockers: readonly Blocker[]) => void) | undefined;
}

/**
 * Runs a transaction that takes strong locks. It gives up soon if it has to wait for them, so that requests go on, and
 * tries again. Once its time is over, it rejects, and the error names those who hold the locks.
 */
export async function takeStrongLocks<T>({
  deadline,
  attempt,
  readHolders,
  onBlocked,
}: StrongLocks<T>): Promise<T> {
  let [reported, lockWaitMs] = ["", LOCK_WAIT_MS];
  let before = (await readHolders()).map(toHolder);
  while (true) {
    try {
      return await attempt(lockWaitMs);
    } catch (error) {
      if (!isBlocked(error)) throw error;
      const pauseMs = LOCK_WAIT_MS * (1 + Math.random());
      const isLast = performance.now() + pauseMs + lockWaitMs + LOCK_WAIT_MS >= deadline;
      // Requests that waited behind this attempt end meanwhile.
      await sleep(isLast ? LAST_PAUSE_MS : pauseMs);
      const holders = (await readHolders()).map(toHolder);
      const found = holders.filter(({ identity }) => before.some((each) => each.identity === identity));
      const blockers = found.map(({ identity, deadlockTimeoutMs, ...blocker }) => blocker);
      const names = found.map(({ identity }) => identity).join();
      if (names !== reported && names !== "") onBlocked?.(blockers);
      if (isLast) throw stillBlocked(blockers, error);
      // Autovacuum, which has no role, gives way to who has waited for that time.
      const vacuum = found.find(({ pid, user }) => pid !== undefined && user === undefined);
      lockWaitMs = LOCK_WAIT_MS + (vacuum?.deadlockTimeoutMs ?? 0);
      [reported, before] = [names, holders];
    }
  }
}

/** The pause before those who hold a lock are named for the last time. */
const LAST_PAUSE_MS = 100;

function stillBlocked(blockers: readonly Blocker[], { cause }: StoreUnavailableError): StoreUnavailableError {
  const message =
    "Other sessions hold locks that this needs, and nothing was changed. Let their transactions end, or end them with " +
    "SELECT pg_terminate_backend(PID), and repeat this.";
  if (blockers.length === 0) return new StoreUnavailableError(message, { cause });
  const named = new Error(blockers.map(describeBlocker).join("; "), { cause });
  return new StoreUnavailableError(message, { cause: named });
}
