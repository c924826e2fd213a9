/** Strong locks beside transactions of others, behind whose wait every request would wait. */
import { setTimeout as sleep } from "node:timers/promises";
import { isStoreUnavailable, StoreUnavailableError } from "../../core/errors.ts";
import { DatabaseError } from "./errors.ts";
import { FIND_BLOCKERS } from "./schema.ts";

/**
 * Requests wait behind it, so it is short; but autovacuum gives way only to who has waited for the server's
 * `deadlock_timeout`, a second by default.
 */
export const LOCK_WAIT_MS = 1_500;

/** In it, the requests that waited behind an attempt end. */
const MIN_PAUSE_MS = 500;

/** `lock_not_available`, and `deadlock_detected` on a server that looks for one sooner. */
const BLOCKED = ["55P03", "40P01"];

function isBlocked(error: unknown): error is StoreUnavailableError {
  if (!isStoreUnavailable(error)) return false;
  return error.cause instanceof DatabaseError && BLOCKED.includes(error.cause.sqlState);
}

export interface StrongLockOptions {
  /** The time until which it is tried, as that of `performance.now()`. */
  readonly deadline: number;
  /** Called after the first attempt that had to give up, with what the operator can do. */
  readonly onBlocked?: ((message: string) => void) | undefined;
}

/** The transaction waits for each lock for at most `LOCK_WAIT_MS`, gives up, so that requests go on, and tries again. */
export async function takeStrongLocks<T>(
  attempt: () => Promise<T>,
  { deadline, onBlocked }: StrongLockOptions,
): Promise<T> {
  for (let isFirst = true; ; isFirst = false) {
    try {
      return await attempt();
    } catch (error) {
      if (!isBlocked(error)) throw error;
      if (isFirst) onBlocked?.(`Waiting for other sessions to release locks. ${FIND_BLOCKERS}`);
      const pauseMs = MIN_PAUSE_MS * (1 + Math.random());
      if (performance.now() + pauseMs + LOCK_WAIT_MS >= deadline)
        throw new StoreUnavailableError(STILL_BLOCKED, { cause: error.cause });
      await sleep(pauseMs);
    }
  }
}

const STILL_BLOCKED =
  "Other sessions hold locks that this needs, and nothing was changed. Let their transactions end, or end them with " +
  `pg_terminate_backend(PID), and repeat this. ${FIND_BLOCKERS}`;
