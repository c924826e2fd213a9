import { isStoreUnavailable, StoreUnavailableError } from "../../core/errors.ts";
import { backOff, isThrottled, requestedWaitMs } from "./client.ts";

/** See `backOff`: each wait is at most 100 ms. */
const RETRY_DELAY_MS = 100;
const MAX_ATTEMPTS = 4;

/** The first pause of an account whose request was throttled at each attempt. Each further one is twice as long. */
const MIN_PAUSE_MS = 200;
const MAX_PAUSE_MS = 5_000;

/** After this time without throttling, an account is like any other. */
const FORGET_MS = 30_000;

const MAX_ACCOUNTS = 1_000;

/**
 * Sends the requests of accounts, and backs off per account: DynamoDB throttles a partition, so every account in it,
 * although one may send most of the requests. An account whose requests keep being throttled, although they are retried,
 * pauses. Meanwhile its requests fail without a call, and the next ones are not retried.
 */
export function createAccountBackOff(
  // The clock of the system can be set while this runs.
  now: () => number = () => performance.now(),
  wait: typeof backOff = backOff,
): <T>(accountId: string, request: () => Promise<T>) => Promise<T> {
  const pauses = new Map<string, { readonly lengthMs: number; readonly until: number }>();

  function lastPause(accountId: string) {
    const last = pauses.get(accountId);
    return last !== undefined && now() < last.until + FORGET_MS ? last : undefined;
  }

  function beginPause(accountId: string, requestedMs: number): void {
    const { lengthMs, until } = lastPause(accountId) ?? { lengthMs: MIN_PAUSE_MS / 2, until: 0 };
    // The first response to requests that were sent at once begins the pause.
    if (now() < until) return;
    const longer = Math.min(MAX_PAUSE_MS, Math.max(requestedMs, 2 * lengthMs));
    pauses.delete(accountId);
    pauses.set(accountId, { lengthMs: longer, until: now() + longer });
    const [oldest] = pauses.keys();
    if (pauses.size > MAX_ACCOUNTS && oldest !== undefined) pauses.delete(oldest);
  }

  return async (accountId, request) => {
    const last = lastPause(accountId);
    if (last !== undefined && now() < last.until)
      throw new StoreUnavailableError("DynamoDB throttles the requests of this account.");
    for (let attempt = 1; ; attempt++) {
      try {
        return await request();
      } catch (error) {
        if (!isStoreUnavailable(error) || !isThrottled(error.cause)) throw error;
        const requestedMs = requestedWaitMs(error.cause);
        if (last !== undefined || attempt === MAX_ATTEMPTS || requestedMs > RETRY_DELAY_MS) {
          beginPause(accountId, requestedMs);
          throw error;
        }
        await wait(attempt, RETRY_DELAY_MS);
      }
    }
  };
}
