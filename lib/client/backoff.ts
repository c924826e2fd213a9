const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 30_000;

/**
 * Exponential backoff with full jitter: any time, alike likely, up to a bound that doubles with each attempt. So
 * callers that failed together do not come back together.
 */
export function backoff(attempt: number, random: () => number): number {
  return random() * Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempt - 1));
}
