/** What a process does. */
export interface Task {
  readonly prefix: string;
  /** Each makes one request, spread evenly over the time. */
  readonly quietAccounts: readonly string[];
  /** When the account `hot` begins, and the time between two of its requests. */
  readonly hotAfterMs: number;
  readonly hotEveryMs: number;
  readonly durationMs: number;
  /** Added to the system clock, so that the run is within one minute window. */
  readonly clockOffsetMs: number;
  /** The end of that window. On a busy machine, the clock stops before it. */
  readonly windowEnd: number;
}

/** The outcome of one request. */
export interface Outcome {
  readonly account: string;
  readonly code:
    | "admitted"
    | "rate_limit_exceeded"
    | "api_key_banned"
    | "invalid_api_key"
    | "store_unavailable";
  /** As in the header, of a rejection or a failure. */
  readonly retryAfterSeconds?: number;
  /** True if the store was unavailable because of throttling. */
  readonly isThrottled?: boolean;
  /** The end of the window. */
  readonly resetsAt?: number;
  readonly at: number;
  readonly waitedMs: number;
}

/** The outcomes of both kinds of accounts. */
export interface Outcomes {
  readonly hot: readonly Outcome[];
  readonly quiet: readonly Outcome[];
}

/** All quiet accounts have the same key, so that the emulator parses few different conditions. */
export function hashOf(accountId: string): string {
  return (accountId.startsWith("hot") ? "2" : "1").repeat(64);
}
