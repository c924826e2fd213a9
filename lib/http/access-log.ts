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
  return toLogLine({ ...accessFields(event, at), ...source });
}

/**
 * Serialises the fields of a line. Whoever reads the log on a terminal must not see what a caller sent as a control
 * character, or as one that breaks lines or reverses text; JSON itself only escapes the first 32. An address can hold a
 * key if a proxy passes on what it was sent.
 */
export function toLogLine(fields: object): string {
  return redactKeys(JSON.stringify(fields)).replace(
    /[\x7f-\x9f\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`,
  );
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
