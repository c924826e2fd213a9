import type { DynamoDBClientConfig } from "@aws-sdk/client-dynamodb";

/** How the AWS client decides whether to repeat a failed request. */
export type RetryStrategy = Extract<
  NonNullable<DynamoDBClientConfig["retryStrategy"]>,
  { readonly acquireInitialRetryToken: unknown }
>;
type RetryToken = Awaited<ReturnType<RetryStrategy["acquireInitialRetryToken"]>>;

/** The number of attempts of one request. */
export const MAX_ATTEMPTS = 3;

/** The longest wait before the second attempt, with full jitter. It doubles with each further attempt. */
const MAX_DELAY_MS = { THROTTLING: 1_000, TRANSIENT: 50 } as const;

/** Repeating costs this much of the budget, which each success refills a little. As the AWS client does. */
const RETRY_COST = 14;
const MAX_BUDGET = 500;

/**
 * Repeats a request that DynamoDB throttles, or that fails for a short time.
 *
 * An outage must not multiply the requests, so all requests of a client share a budget for repeating what failed, as
 * they do in the AWS client. Unlike there, throttling takes nothing from it: DynamoDB throttles a single item, so that
 * one account with too many requests would leave no repetition for any other.
 */
export function createRetryStrategy({ retryThrottled }: { retryThrottled: boolean }): RetryStrategy {
  let budget = MAX_BUDGET;
  const costs = new WeakMap<RetryToken, number>();
  return {
    async acquireInitialRetryToken() {
      return tokenOf(0, 0);
    },

    async refreshRetryTokenForRetry(token, { errorType }) {
      const retry = token.getRetryCount() + 1;
      const isThrottled = errorType === "THROTTLING" && retryThrottled;
      const isTransient = errorType === "TRANSIENT" && budget >= RETRY_COST;
      if (retry >= MAX_ATTEMPTS || !(isThrottled || isTransient))
        throw new Error("There is no further attempt.");
      const cost = isTransient ? RETRY_COST : 0;
      budget -= cost;
      const maxDelayMs = MAX_DELAY_MS[isTransient ? "TRANSIENT" : "THROTTLING"] * 2 ** (retry - 1);
      const next = tokenOf(retry, Math.random() * maxDelayMs);
      costs.set(next, cost);
      return next;
    },

    recordSuccess(token) {
      budget = Math.min(MAX_BUDGET, budget + (costs.get(token) || 1));
    },
  };
}

function tokenOf(retries: number, delayMs: number): RetryToken {
  return { getRetryCount: () => retries, getRetryDelay: () => delayMs };
}
