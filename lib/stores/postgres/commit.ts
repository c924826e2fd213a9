import { setTimeout as sleep } from "node:timers/promises";
import { StoreUnavailableError } from "../../core/errors.ts";
import { type PostgresPool, withConnection } from "./connection.ts";

export const STARTED_AT = "extract(epoch FROM pg_catalog.pg_postmaster_start_time())::pg_catalog.text";

/**
 * When the server last recovered from a crash of one of its processes, after which it gives identifiers again that were not
 * on disk. Its start stays the same, but it resets these statistics. Somebody can reset them too: then nobody can tell.
 */
const RECOVERED_AT = "extract(epoch FROM pg_catalog.pg_stat_get_bgwriter_stat_reset_time())";

/** The pause before the server is asked again whether a transaction was committed. */
const STATUS_INTERVAL_MS = 25;

/**
 * Asks the server whether a transaction was committed, the response to whose COMMIT is lost. Throws if it cannot tell before
 * the deadline, or was started since: after a failover, the same identifier can be that of another transaction.
 */
export async function isCommitted(
  pool: PostgresPool,
  [transaction, startedAt, beganAt]: readonly unknown[],
  deadline: number,
): Promise<boolean> {
  const text = `SELECT pg_catalog.pg_xact_status($1::pg_catalog.xid8), ${STARTED_AT}, ${RECOVERED_AT}`;
  // Each time it can have another session, which has not prepared it.
  const question = { text, values: [`${transaction}`], isRare: true };
  let problem: unknown;
  while (performance.now() < deadline) {
    try {
      const [[[status, started, recoveredAt] = []] = []] = await withConnection(pool, deadline, (send) =>
        send(question),
      );
      if (started !== startedAt || Number(recoveredAt ?? 0) >= Number(beganAt)) break;
      if (status === "committed" || status === "aborted") return status === "committed";
    } catch (error) {
      problem = error;
    }
    await sleep(STATUS_INTERVAL_MS);
  }
  const message = "The connection was lost during a COMMIT. The change may have been made.";
  throw new StoreUnavailableError(message, { cause: problem });
}
