import { redactKeys } from "../accounts/api-key.ts";
import type { RequestEvent } from "./request-event.ts";

/** One request as a line of JSON. Of an error it tells the message and the cause's, never a stack or a key. */
export function accessLine({ error, durationMs: milliseconds, ...event }: RequestEvent, at: Date): string {
  const failure = error === undefined ? {} : { error: messageOf(error) };
  return JSON.stringify({
    at: at.toISOString(),
    ...event,
    milliseconds: Math.round(milliseconds * 10) / 10,
    ...failure,
  });
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  const cause = error.cause instanceof Error ? ` (${error.cause.message})` : "";
  return redactKeys(`${error.name}: ${error.message}${cause}`);
}
