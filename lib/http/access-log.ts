import { redactKeys } from "../accounts/api-key.ts";
import { errorMessage } from "../errors.ts";
import type { RequestEvent } from "./request-event.ts";

/** One request as a line of JSON. Of an error it tells the message and the cause's, never a stack or a key. */
export function accessLine({ error, durationMs: milliseconds, ...event }: RequestEvent, at: Date): string {
  const failure = error === undefined ? {} : { error: describeError(error) };
  return JSON.stringify({
    at: at.toISOString(),
    ...event,
    milliseconds: Math.round(milliseconds * 10) / 10,
    ...failure,
  });
}

function describeError(error: unknown): string {
  const message = redactKeys(errorMessage(error));
  return error instanceof Error ? `${error.name}: ${message}` : message;
}
