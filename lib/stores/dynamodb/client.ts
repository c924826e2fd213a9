import { setTimeout as sleep } from "node:timers/promises";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { StoreUnavailableError } from "../../errors.ts";
import { createRetryStrategy, MAX_ATTEMPTS } from "./retry-strategy.ts";

/** The longest time that one call of the store takes, including retries. */
export const CALL_TIMEOUT_MS = 4_000;

/**
 * Creates a client from the environment, like any AWS tool. It makes at most three attempts, with full jitter in
 * between; see `createRetryStrategy`. Each times out after 1.5 seconds.
 *
 * DynamoDB may apply a write although its response is lost. A retried write is recognised by its token; see
 * `onceOnly`. No request is admitted without being counted. If every response is lost, the call fails with
 * `StoreUnavailableError` although the write may have been applied.
 */
export function createDynamodbClient(): DynamoDBClient {
  const client = new DynamoDBClient({
    maxAttempts: MAX_ATTEMPTS,
    retryStrategy: createRetryStrategy({ retryThrottled: true }),
    requestHandler: {
      connectionTimeout: 1_000,
      requestTimeout: 1_500,
      throwOnRequestTimeout: true,
      httpsAgent: { maxSockets: 64 },
    },
  });
  removeLogger(client);
  return client;
}

/**
 * Creates a client for admissions over the connections of another one. It does not repeat a request that is throttled:
 * the item of an account with too many requests stays throttled, and each wait would hold one of the executions that
 * all accounts share. The caller is told to retry instead.
 */
export function createAdmissionClient({ config }: DynamoDBClient): DynamoDBClient {
  const client = new DynamoDBClient({
    maxAttempts: MAX_ATTEMPTS,
    retryStrategy: createRetryStrategy({ retryThrottled: false }),
    requestHandler: config.requestHandler,
    credentials: config.credentials,
  });
  removeLogger(client);
  return client;
}

/** The logger's middleware copies every input and output although none is set: a sixth of the time of a long list. */
function removeLogger(client: DynamoDBClient): void {
  client.middlewareStack.remove("loggerMiddleware");
}

/** A signal that aborts a call when its time is up. */
export function callTimeout(): AbortSignal {
  return AbortSignal.timeout(CALL_TIMEOUT_MS);
}

/**
 * Sends a request. Throttling, timeouts, outages, missing tables and missing permissions reject with
 * `StoreUnavailableError`. Errors about the request itself are passed on.
 */
export async function send<T>(request: () => Promise<T>, tableName?: string): Promise<T> {
  try {
    return await request();
  } catch (cause) {
    if (cause instanceof Error && REQUEST_ERRORS.has(cause.name)) throw cause;
    if (tableName !== undefined && cause instanceof Error && cause.name === "ResourceNotFoundException") {
      const message = `The DynamoDB table '${tableName}' does not exist. Check the prefix and the region, or create the tables.`;
      throw new StoreUnavailableError(message, { cause });
    }
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

function isThrottled(error: unknown): boolean {
  return (
    error instanceof Error &&
    /^(ProvisionedThroughputExceeded|Throttling|RequestLimitExceeded)/.test(error.name)
  );
}

/**
 * Waits for a random time before something is tried again, so that callers that contend do not do so in lockstep: at
 * most `baseMs`, which doubles with each round, up to 100 ms.
 */
export async function jitter(round: number, baseMs = 1): Promise<void> {
  await sleep(Math.random() * Math.min(100, baseMs * 2 ** round));
}
