import type { Caller } from "../accounts/admission.ts";
import { ERRORS, type ErrorBody, type ErrorCode } from "../errors.ts";
import type { Quota } from "../plans/windows.ts";
import type { StreamEnd } from "./order-stream.ts";

/** Header names and values, to be added to a response. */
export type HeaderFields = Readonly<Record<string, string>>;

/** What an operation answers, before the headers that every response shares are put on. */
export type Reply =
  | { readonly error: ErrorCode; readonly headers?: HeaderFields }
  | {
      readonly status: 200 | 204 | 301;
      /** JSON unless the headers say otherwise; absent where there is nothing to send. */
      readonly body?: string | ReadableStream<Uint8Array>;
      readonly headers?: HeaderFields;
      /** Resolves when a streamed body has ended. */
      readonly ended?: Promise<StreamEnd>;
    };

/**
 * Serves documents beside the API: without a key, without counting, without rate-limit headers (decision 12).
 * `undefined` for a path that is none of its own.
 */
export type PageSource = (path: string, request: Request) => Promise<Reply | undefined>;

/** What is left to the caller, and who it is as far as that is known. */
export interface RateLimitStatus {
  readonly quota: Quota;
  readonly caller?: Caller;
}

/** The three headers of every response (specification, "Limits", rule 1; decision 11). */
export function quotaFields({ limit, remaining, resetsAt }: Quota): HeaderFields {
  return {
    "x-ratelimit-limit": `${limit}`,
    "x-ratelimit-remaining": `${remaining}`,
    "x-ratelimit-reset": `${Math.ceil(resetsAt / 1000)}`,
  };
}

/** The Error body of a code (specification, "Error"), as JSON. */
export function errorJson(code: ErrorCode): string {
  const { status, message } = ERRORS[code];
  return JSON.stringify({ code, message, status } satisfies ErrorBody);
}
