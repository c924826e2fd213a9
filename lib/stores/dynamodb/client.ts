import { setTimeout as sleep } from "node:timers/promises";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { StoreUnavailableError } from "../../errors.ts";

/** The longest time that one call of the store takes, including retries. */
export const CALL_TIMEOUT_MS = 4_000;

/**
 * Creates a client from the environment, like any AWS tool. It makes at most three attempts, with full jitter in
 * between. Each times out after 1.5 seconds.
 *
 * DynamoDB may apply a write although its response is lost. A retried write is recognised by its token; see
 * `onceOnly`. No request is admitted without being counted. If every response is lost, the call fails with
 * `StoreUnavailableError` although the write may have been applied.
 */
export function createDynamodbClient(): DynamoDBClient {
  const client = new DynamoDBClient({
    maxAttempts: 3,
    requestHandler: {
      connectionTimeout: 1_000,
      requestTimeout: 1_500,
      throwOnRequestTimeout: true,
      httpsAgent: { maxSockets: 64 },
    },
  });
  // The middleware copies every input and output for a logger that is not set: a sixth of the time of a long list.
  client.middlewareStack.remove("loggerMiddleware");
  return client;
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
    throw new StoreUnavailableError("DynamoDB is unreachable or timed out.", { cause });
  }
}

const REQUEST_ERRORS: ReadonlySet<string> = new Set([
  "ConditionalCheckFailedException",
  "ResourceInUseException",
  "SerializationException",
  "ValidationException",
]);

/** Waits, with full jitter, before a conditional write that lost a race is retried. */
export async function jitter(round: number): Promise<void> {
  await sleep(Math.random() * Math.min(100, 2 ** round));
}
