import { redactKeys } from "../accounts/api-key.ts";
import { errorMessage } from "../errors.ts";
import type { RequestEvent } from "./request-event.ts";

/** Formats one request as a line of JSON. */
export function accessLine(event: RequestEvent, at: Date): string {
  return JSON.stringify(accessFields(event, at));
}

/** The log fields of one request. An error is logged by its message and its cause's, without stack or keys. */
export function accessFields({ error, durationMs, ...event }: RequestEvent, at: Date): object {
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
