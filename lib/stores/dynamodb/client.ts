import { setTimeout as sleep } from "node:timers/promises";
import { DynamoDBClient, type DynamoDBClientConfig } from "@aws-sdk/client-dynamodb";
import { StoreUnavailableError } from "../../core/errors.ts";
import { backoffMs, CALL_TIMEOUT_MS, type Instant, systemClock } from "../../core/time.ts";

/**
 * DynamoDB may apply a write although its response is lost. A retried write is recognised by its token; see
 * `newWriteToken` in table.ts. If every response is lost, the call fails although the write may have been applied.
 */
export function createDynamodbClient(): DynamoDBClient {
  return createClient(createRetryStrategy({ retryThrottled: true }), {
    requestHandler: {
      connectionTimeout: 1_000,
      requestTimeout: 1_500,
      throwOnRequestTimeout: true,
      httpsAgent: { maxSockets: 64 },
    },
  });
}

/** Over the connections of another client. Whether a throttled request is retried depends on the account. */
export function createAdmissionClient({ config }: DynamoDBClient): DynamoDBClient {
  const { requestHandler, credentials } = config;
  return createClient(createRetryStrategy({ retryThrottled: false }), { requestHandler, credentials });
}

function createClient(retryStrategy: RetryStrategy, config: DynamoDBClientConfig): DynamoDBClient {
  const client = new DynamoDBClient({ maxAttempts: MAX_ATTEMPTS, retryStrategy, ...config });
  // The logger copies every input and output although none is set: a sixth of the time of a long list.
  client.middlewareStack.remove("loggerMiddleware");
  return client;
}

type RetryStrategy = Extract<
  NonNullable<DynamoDBClientConfig["retryStrategy"]>,
  { readonly acquireInitialRetryToken: unknown }
>;
type RetryToken = Awaited<ReturnType<RetryStrategy["acquireInitialRetryToken"]>>;

const MAX_ATTEMPTS = 3;

/** Before the second attempt at most; see `backoffMs`. */
const MIN_DELAY_MS = { THROTTLING: 1_000, TRANSIENT: 50 } as const;

/** When the response to a failed attempt permits the next one: the header `retry-after`, or `x-amz-retry-after`. */
const permitted = new WeakMap<object, Instant>();

export function requestedWaitMs(error: unknown): number {
  return Math.max(0, (permitted.get(Object(error)) ?? 0) - systemClock());
}

/** A retry costs this much of the budget, which each success refills a little. As the AWS client does. */
const RETRY_COST = 14;
const MAX_BUDGET = 500;

/**
 * An outage must not multiply the requests, so all requests of a client share a budget for retries, as they do in the
 * AWS client. Unlike there, throttling takes nothing from it: DynamoDB throttles a partition, so that one account with
 * too many requests would leave no retry for any other.
 */
export function createRetryStrategy({ retryThrottled }: { retryThrottled: boolean }): RetryStrategy {
  let budget = MAX_BUDGET;
  const costs = new WeakMap<RetryToken, number>();
  return {
    async acquireInitialRetryToken() {
      return tokenOf(0, 0);
    },

    async refreshRetryTokenForRetry(token, { error, errorType, retryAfterHint }) {
      const retry = token.getRetryCount() + 1;
      if (retryAfterHint !== undefined) permitted.set(Object(error), retryAfterHint.getTime());
      const waitMs = requestedWaitMs(error);
      const isThrottled = errorType === "THROTTLING" && retryThrottled;
      const isTransient = errorType === "TRANSIENT" && budget >= RETRY_COST;
      if (retry >= MAX_ATTEMPTS || !(isThrottled || isTransient) || waitMs > CALL_TIMEOUT_MS)
        throw new Error("There is no further attempt.");
      const cost = isTransient ? RETRY_COST : 0;
      budget -= cost;
      const minDelayMs = MIN_DELAY_MS[isTransient ? "TRANSIENT" : "THROTTLING"];
      const next = tokenOf(retry, Math.max(waitMs, backoffMs(retry - 1, minDelayMs, Infinity)));
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

export function callTimeout(): AbortSignal {
  return AbortSignal.timeout(CALL_TIMEOUT_MS);
}

/** Rejects with `StoreUnavailableError`, except for errors about the request itself. */
export async function send<T>(request: () => Promise<T>, tableName?: string): Promise<T> {
  try {
    return await request();
  } catch (cause) {
    if (cause instanceof Error && REQUEST_ERRORS.has(cause.name)) throw cause;
    if (tableName !== undefined && cause instanceof Error && cause.name === "ResourceNotFoundException") {
      const message = `The DynamoDB table '${tableName}' does not exist. Check the prefix and the region, or create the tables.`;
      throw new StoreUnavailableError(message, { cause });
    }
    const [, correction] = TO_CORRECT.find(([pattern]) => pattern.test(`${cause}`)) ?? [];
    if (correction !== undefined) throw new StoreUnavailableError(correction, { cause, retryable: false });
    const message = isThrottled(cause)
      ? `DynamoDB throttles the requests${tableName === undefined ? "" : ` to the table '${tableName}'`}.`
      : "DynamoDB is unreachable or timed out.";
    throw new StoreUnavailableError(message, { cause });
  }
}

const REQUEST_ERRORS: ReadonlySet<string> = new Set([
  "ConditionalCheckFailedException",
  "ResourceInUseException",
  "SerializationException",
  "ValidationException",
]);

/** What to correct, by the name and message of an error. A repetition does not help. */
const TO_CORRECT: readonly (readonly [RegExp, string])[] = [
  [/^(AccessDenied|NotAuthorized|OptInRequired)/, "AWS denies the request. Grant what its message names."],
  [/^KMS/, "AWS cannot use the key that encrypts the table. Enable the key, or grant its use."],
  [
    /^(ExpiredToken|TokenRefresh|UnrecognizedClient|Invalid(ClientTokenId|AccessKey|Signature)|SignatureDoesNotMatch|IncompleteSignature|MissingAuthentication|RequestExpired)/,
    "AWS rejects the credentials. Renew or correct them, and compare the clock of this machine.",
  ],
  [
    /^(CredentialsProviderError|Error: Region is missing)/,
    "The configuration of AWS is incomplete. Set the region and the credentials.",
  ],
];

export function isThrottled(error: unknown): boolean {
  return (
    error instanceof Error &&
    /^(ProvisionedThroughputExceeded|Throttling|RequestLimitExceeded)/.test(error.name)
  );
}

/** Waits at most 100 ms; see `backoffMs`. */
export async function backOff(round: number, minMs = 1): Promise<void> {
  await sleep(backoffMs(round, minMs, 100));
}
