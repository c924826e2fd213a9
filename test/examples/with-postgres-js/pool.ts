import { EventEmitter } from "node:events";
import type { Sql } from "postgres";
import postgres from "postgres";
import type { PostgresPool, PostgresQuery } from "store-orders/postgres";

/** A pool of postgres.js, in the form in which a store takes one of `pg`. */
export function createPool(url: string): { readonly pool: PostgresPool; readonly sql: Sql } {
  // It says of no notice which connection it was. One too many costs a commit more.
  const notices = new EventEmitter().setMaxListeners(0);
  const sql = postgres(url, { connect_timeout: 4, onnotice: (notice) => notices.emit("notice", notice) });

  async function connect() {
    const reserved = await sql.reserve();
    let isLost = false;

    async function query({ text, values, name, query_timeout: timeoutMs = 5_000 }: PostgresQuery) {
      const sent = reserved.unsafe(text, values as never[], { prepare: name !== undefined });
      const timer = setTimeout(() => sent.cancel(), timeoutMs);
      try {
        const { command, ...rows } = await sent.values();
        return { rows: Object.values(rows) as unknown[][], command };
      } catch (error) {
        isLost ||= `${Object(error).code}`.startsWith("CONNECTION_");
        throw error;
      } finally {
        clearTimeout(timer);
      }
    }

    return {
      query,
      release(close = false) {
        // The driver notices itself that a connection is lost, and fails if it is used again.
        if (isLost) return;
        if (!close) return reserved.release();
        // It closes none. The server ends the session, and the pool opens another one.
        reserved`SELECT pg_terminate_backend(pg_backend_pid())`.catch(() => {});
      },
      on: notices.on.bind(notices),
      removeListener: notices.removeListener.bind(notices),
    };
  }

  return { sql, pool: { connect } };
}
