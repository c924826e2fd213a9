/**
 * Connections that a pool lends. A session can be in any state when it comes: in somebody's transaction, as another role,
 * or lost. It is checked as it comes, and closed rather than returned if the next call could fail because of it.
 */
import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { createTurns, settleWithin } from "../../core/concurrency.ts";
import { invalidInput, isStoreUnavailable, StoreUnavailableError } from "../../core/errors.ts";
import {
  DatabaseError,
  isForeignSession,
  isLocalCommit,
  isOpenTransaction,
  isRefused,
  isWrongSession,
  notCommitted,
  notConfirmed,
  openTransaction,
  type PostgresNotice,
  toStoreError,
} from "./errors.ts";
import type { Rows, Statement } from "./statement.ts";

/** The part of a `Pool` of `pg` that the store uses, so that a pool of another driver can be adapted to it. */
export interface PostgresPool {
  connect(): Promise<PooledConnection>;
  readonly totalCount?: number;
  readonly idleCount?: number;
  readonly waitingCount?: number;
}

/** The part of a `Client` of `pg` that the store uses. */
export interface PostgresConnection {
  /** True if several queries can be sent at once. Otherwise each is sent when the one before has ended. */
  readonly pipeline?: boolean;
  /** True if values arrive in a binary form, which the store does not read. */
  readonly binary?: boolean;
  query(
    query: PostgresQuery,
  ): Promise<{ readonly rows: readonly (readonly unknown[])[]; readonly command?: string }>;
}

/** The connection of a pool. */
export interface PooledConnection extends PostgresConnection {
  release(close?: boolean): void;
  /** The state in which the server answered last: `I` if no transaction is open, `T` in one, `E` in one that failed. */
  getTransactionStatus?(): string | null;
  /** Adds a listener for the loss of the connection. */
  on?(event: "error", listener: (error: Error) => void): unknown;
  /** Adds a listener for notices and warnings, without which nobody sees that a standby has not confirmed a commit. */
  on?(event: "notice", listener: (notice: PostgresNotice) => void): unknown;
  removeListener?(event: "error" | "notice", listener: (message: Error & PostgresNotice) => void): unknown;
}

/** A query as `pg` takes it. One without values can have several statements. */
export interface PostgresQuery {
  readonly text: string;
  readonly values?: unknown[];
  /** Of the prepared statement. */
  readonly name?: string;
  readonly rowMode: "array";
  readonly types: {
    /** Returns what converts a value. */
    getTypeParser(): (value: string) => unknown;
  };
  /** In milliseconds. A query that takes longer rejects, and its connection is closed. */
  readonly query_timeout?: number;
}

/** Sends statements, all at once if the connection can, and returns their rows. */
export type Send = (...statements: readonly Statement[]) => Promise<readonly Rows[]>;

/** Those that a store has opened itself. */
export const ownPools = new WeakSet<PostgresPool>();

/** The pools behind which a connection pooler has given a session to another client. */
const unprepared = new WeakSet<PostgresPool>();

export async function withConnection<T>(
  pool: PostgresPool,
  deadline: number,
  task: (send: Send) => Promise<T>,
): Promise<T> {
  const connection = await checkOut(pool, deadline);
  if (/[TE]/.test(connection.getTransactionStatus?.() ?? "")) {
    connection.release(true);
    throw openTransaction(ownPools.has(pool));
  }
  // Without a listener, a connection that is lost ends the process.
  connection.on?.("error", ignore);
  let isUnconfirmed = false;
  const onNotice = (notice: PostgresNotice) => {
    isUnconfirmed ||= isLocalCommit(notice);
  };
  connection.on?.("notice", onNotice);
  const send: Send = async (...statements) => {
    isUnconfirmed = false;
    const queries = statements.map((statement) => toQuery(statement, deadline, !unprepared.has(pool)));
    const rows = await sendQueries(connection, queries);
    const isCommit = statements.at(-1)?.text === "COMMIT";
    if (isUnconfirmed && isCommit) throw new DatabaseError(notConfirmed(), rows.slice(0, -1));
    return rows;
  };
  let mustClose = true;
  try {
    const value = await task(send);
    mustClose = false;
    return value;
  } catch (error) {
    if (isForeignSession(error)) unprepared.add(pool);
    // Another session may be able to do what this one cannot.
    if (!isWrongSession(error)) await send({ text: "ROLLBACK" }).then(() => (mustClose = false), ignore);
    throw isOpenTransaction(error) ? openTransaction(ownPools.has(pool)) : error;
  } finally {
    connection.removeListener?.("notice", onNotice);
    if (!mustClose) connection.removeListener?.("error", ignore);
    connection.release(mustClose);
  }
}

function ignore(): void {}

/** Without a deadline it has no time limit of the driver. */
export function toQuery(
  { text, values, isRare = false }: Statement,
  deadline?: number,
  canPrepare = false,
): PostgresQuery {
  return {
    text,
    rowMode: "array",
    types: AS_STRINGS,
    ...(deadline !== undefined && { query_timeout: msUntil(deadline) }),
    ...(values !== undefined && { values: [...values] }),
    ...(values !== undefined && canPrepare && !isRare && { name: nameOf(text) }),
  };
}

/** The names of prepared statements by their SQL, the same in every process. */
const names = new Map<string, string>();

function nameOf(text: string): string {
  const digest = () => createHash("sha256").update(text).digest("hex").slice(0, 32);
  const name = names.get(text) ?? `store_orders_${digest()}`;
  names.set(text, name);
  return name;
}

/** A program can have changed how `pg` reads a type. */
const AS_STRINGS = { getTypeParser: () => (value: string) => value };

/** Rejects with the `DatabaseError` of the first that fails, which has the rows of those before it. */
export async function sendQueries(
  connection: PostgresConnection,
  queries: readonly PostgresQuery[],
): Promise<readonly Rows[]> {
  if (connection.binary) throw invalidInput("pool", "Create it without binary: true.");
  const rows: Rows[] = [];
  const isAtOnce = connection.pipeline === true;
  // Also if one of them throws at once: nobody would handle the rejection of those before it.
  const sent = isAtOnce ? queries.map(async (query) => connection.query(query)) : [];
  const responses = await Promise.allSettled(sent);
  for (const [index, query] of queries.entries()) {
    try {
      const response = responses[index];
      if (response?.status === "rejected") throw response.reason;
      const { rows: found, command = "COMMIT" } = response?.value ?? (await connection.query(query));
      if (query.text === "COMMIT" && command !== "COMMIT") throw notCommitted();
      rows.push(found);
    } catch (error) {
      throw new DatabaseError(error, rows);
    }
  }
  return rows;
}

export function msUntil(deadline: number): number {
  return Math.max(1, Math.ceil(deadline - performance.now()));
}

const MAX_REFUSED_PAUSE_MS = 50;

const refused = createTurns<PostgresPool>();

/** A connection that is lent can be free in a moment. So the calls wait in their order: none is overtaken for ever. */
async function checkOut(pool: PostgresPool, deadline: number): Promise<PooledConnection> {
  try {
    if (!refused.has(pool)) return await lend(pool, deadline);
  } catch (error) {
    if (!isRefused(error)) throw toStoreError(error);
  }
  const lent = refused.run(pool, () => lendOnceFree(pool, deadline));
  // Whoever is first may have more time. It says why it was refused, which takes a pause longer.
  return settleWithin(msUntil(deadline) + 2 * MAX_REFUSED_PAUSE_MS, lent);
}

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

/** A connection that comes after the deadline is returned to the pool. */
async function lend(pool: PostgresPool, deadline: number): Promise<PooledConnection> {
  const lent = pool.connect();
  try {
    return await settleWithin(msUntil(deadline), lent);
  } catch (error) {
    lent.then((late) => late.release()).catch(ignore);
    if (!isStoreUnavailable(error)) throw new DatabaseError(error);
    // It took too long, unless the pool says what to correct.
    throw error.retryable ? new StoreUnavailableError(NO_CONNECTION) : error;
  }
}
