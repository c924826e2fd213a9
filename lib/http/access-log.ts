import { redactKeys } from "../accounts/api-key.ts";
import { errorMessage } from "../errors.ts";
import type { RequestEvent, RequestSource } from "./request-event.ts";

/** What a log line contains. */
export interface AccessFields extends Omit<RequestEvent, "error"> {
  readonly at: string;
  readonly error?: string;
}

/** Formats one request as a line of JSON. To log addresses too, pass the second argument of `onRequest`. */
export function accessLine(event: RequestEvent, at: Date, source: RequestSource = {}): string {
  return JSON.stringify({ ...accessFields(event, at), ...source });
}

/** The log fields of one request. An error is logged by its message and its cause's, without stack or keys. */
export function accessFields({ error, durationMs, ...event }: RequestEvent, at: Date): AccessFields {
  return {
    at: at.toISOString(),
    ...event,
    durationMs: Math.round(durationMs * 10) / 10,
    ...(error === undefined ? {} : { error: describeError(error) }),
  };
}

function describeError(error: unknown): string {
  const message = redactKeys(errorMessage(error));
  return error instanceof Error ? `${error.name}: ${message}` : message;
}
