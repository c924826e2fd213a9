import { setTimeout as sleep } from "node:timers/promises";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { StoreUnavailableError } from "../../errors.ts";

/** The longest that one call of the store takes, tries and waits included, in milliseconds. */
export const CALL_TIMEOUT_MS = 4_000;

/**
 * Makes a client from the environment, as every AWS tool reads it. A try ends after 1.5 seconds and there are three
 * at most, with full jitter between them. A write whose answer was lost is thereby sent again: a request is counted
 * once more for each such answer, and none is ever admitted without being counted; a refusal likewise, so that a ban
 * may come that much earlier. A request that ends without any answer is a 503 that may have counted, and a cancel may
 * have been done: asked again, it is told `order_already_cancelled`.
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
  // It copies every input and output for a logger that nobody set, which takes a sixth of the time of a long list.
  client.middlewareStack.remove("loggerMiddleware");
  return client;
}

/** The end of a call's budget. */
export function callTimeout(): AbortSignal {
  return AbortSignal.timeout(CALL_TIMEOUT_MS);
}

/**
 * Runs a request; a throttle, a time-out, an outage, a missing table or a missing right rejects with
 * `StoreUnavailableError`. What the engine says about the request itself passes through.
 */
export async function ask<T>(request: () => Promise<T>): Promise<T> {
  try {
    return await request();
  } catch (cause) {
    if (cause instanceof Error && ABOUT_THE_REQUEST.has(cause.name)) throw cause;
    throw new StoreUnavailableError("DynamoDB could not be asked, or did not answer in time.", { cause });
  }
}

const ABOUT_THE_REQUEST: ReadonlySet<string> = new Set([
  "ConditionalCheckFailedException",
  "ResourceInUseException",
  "SerializationException",
  "ValidationException",
]);

/** Waits, with full jitter, before a guarded write that another process won is tried again. */
export async function jitter(round: number): Promise<void> {
  await sleep(Math.random() * Math.min(100, 2 ** round));
}
