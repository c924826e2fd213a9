const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 30_000;

/**
 * Exponential backoff with full jitter: a uniformly distributed delay in milliseconds, up to a bound that doubles
 * with each attempt. The jitter spreads the retries of callers that failed at the same time.
 */
export function backoff(attempt: number, random: () => number): number {
  return random() * Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempt - 1));
}
