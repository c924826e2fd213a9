/**
 * The store in a transaction of the caller, who commits it or rolls it back. It is the caller's session, so nothing of it is
 * set but the time limit of a statement during a change: the statements name every function and operator with its schema, and
 * a query tells whether rows are hidden.
 */
import { createTurns, settleWithin } from "../../core/concurrency.ts";
import { invalidInput } from "../../core/errors.ts";
import { CALL_TIMEOUT_MS } from "../../core/time.ts";
import { msUntil, type PostgresConnection, type Send, sendQueries, toQuery } from "./connection.ts";
import { type Database, isTrue, SERVER_SECONDS, serverTimeoutMs, splitState, withState } from "./database.ts";
import { hiddenRows, isOutsideTransaction, NO_TRANSACTION_SETTING, toStoreError } from "./errors.ts";
import { toLiteral } from "./schema.ts";
import type { Rows, Statement } from "./statement.ts";

const NO_TRANSACTION =
  "There is no transaction, and nothing was written. Begin one on this client with BEGIN, await each call, and end it with " +
  "COMMIT. Give a client, not a pool, whose queries use different connections.";

const NO_CLIENT =
  "Give the client of pg on which the transaction has begun. The transaction of a query builder is none: let the query " +
  "builder use a client of your pool, and give that.";

const FAIL = "SELECT pg_catalog.current_setting('store_orders.call_was_rejected')";

/** The wait for a connection after a call that was rejected. */
const MAX_FAIL_MS = 1_000;

/** The calls on each connection of a caller: at the same time, two would decide on the same rows. */
const calls = createTurns<PostgresConnection>();

export function databaseOf(database: Database, connection: PostgresConnection): Database {
  const { schema } = database;
  if (typeof connection?.query !== "function") throw invalidInput("client", NO_CLIENT);

  function call<T>(task: (send: Send, deadline: number) => Promise<T>): Promise<T> {
    const deadline = performance.now() + CALL_TIMEOUT_MS;
    // Without the driver's time limit, at which it would close the connection.
    const send: Send = (...statements) => {
      const queries = statements.map((each) => toQuery(each));
      return settleWithin(msUntil(deadline), sendQueries(connection, queries));
    };
    return calls.run(connection, async () => {
      try {
        return await task(send, deadline);
      } catch (error) {
        // A failed statement, which precedes the caller's COMMIT: what was rejected is not committed. The caller can use
        // the connection after it; a statement that still waits for a lock is not waited for without end.
        await settleWithin(MAX_FAIL_MS, connection.query(toQuery({ text: FAIL }))).catch(() => {});
        throw isOutsideTransaction(error) ? invalidInput("client", NO_TRANSACTION) : toStoreError(error);
      }
    });
  }

  function visible(rows: Rows | undefined, columns: readonly string[]): Rows {
    if (isTrue(rows?.[0]?.[1])) throw hiddenRows();
    return splitState(rows, columns).rows;
  }

  return {
    ...database,
    read: (statement) =>
      call(async (send) => {
        // Fails unless a transaction is open, and has no other effect than the read that follows.
        const lock = { text: `LOCK TABLE ${schema}.settings IN ACCESS SHARE MODE` };
        const columns = [areRowsHidden(schema)];
        const [, rows] = await send(lock, withState(schema, statement, columns));
        if (rows === undefined) throw invalidInput("client", NO_CLIENT);
        return visible(rows, columns);
      }),
    change: ({ first: [first, ...others], decide }) =>
      call(async (send, deadline) => {
        // Outside a transaction, the limit is gone with this statement.
        const limitMs = serverTimeoutMs(deadline);
        const start = {
          text: `SELECT pg_catalog.pg_current_xact_id(), ${SERVER_SECONDS}, pg_catalog.current_setting('statement_timeout'),
                   ${setTimeLimit(`${limitMs}`)}`,
        };
        const [[[transaction, seconds, limitBefore] = []] = []] = await send(start);
        if (transaction === undefined) throw invalidInput("client", NO_CLIENT);
        const last = Number(seconds) + limitMs / 1_000;
        // Without a transaction, each statement is one of its own. And one that has waited for too long could be committed
        // after its call has rejected. Then this fails, and with it its statement.
        const isValid = `pg_catalog.current_setting(CASE
          WHEN NOT pg_catalog.xid8eq(pg_catalog.pg_current_xact_id(), '${transaction}') THEN '${NO_TRANSACTION_SETTING}'
          WHEN ${SERVER_SECONDS} OPERATOR(pg_catalog.>) ${last}::numeric THEN 'store_orders.call_took_too_long'
          ELSE 'server_version' END)`;
        const columns = [areRowsHidden(schema), isValid];
        const guarded = (statements: readonly Statement[]) =>
          statements.map((statement) => withCondition(statement, isValid));
        const [firstRows, ...rows] = await send(withState(schema, first, columns, true), ...guarded(others));
        const { writes = [], result } = decide([visible(firstRows, columns), ...rows]);
        const restore = { text: `SELECT ${setTimeLimit(`${limitBefore}`)}` };
        return result((await send(...guarded(writes), restore)).slice(0, -1));
      }),
  };
}

/** SQL: sets the time after which the server ends a statement of this transaction. */
const setTimeLimit = (value: string) =>
  `pg_catalog.set_config('statement_timeout', ${toLiteral(value)}, true)`;

/** Adds what is evaluated after a write. A statement that only reads needs nothing. */
function withCondition(statement: Statement, condition: string): Statement {
  if (statement.text.startsWith("SELECT")) return statement;
  const written = `WITH w AS (${statement.text} RETURNING true), n AS (SELECT pg_catalog.count(*) FROM w)`;
  return { ...statement, text: `${written} SELECT ${condition} FROM n` };
}

function areRowsHidden(schema: string): string {
  const isActive = (table: string) => `pg_catalog.row_security_active(${toLiteral(`${schema}.${table}`)})`;
  return `${isActive("orders")} OR ${isActive("settings")}`;
}
