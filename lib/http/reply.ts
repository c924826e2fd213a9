import { ERRORS, type ErrorBody, type ErrorCode } from "../errors.ts";
import type { Quota } from "../plans/windows.ts";
import type { StreamEnd } from "./order-stream.ts";

/** Header names and values to add to a response. */
export type HeaderFields = Readonly<Record<string, string>>;

/** An error response without the headers that all responses share. */
export interface ErrorReply {
  readonly error: ErrorCode;
  readonly headers?: HeaderFields;
}

/** A response without the headers that all responses share. */
export type Reply =
  | ErrorReply
  | {
      readonly error?: undefined;
      readonly status: 200 | 204 | 301;
      /** JSON, unless the headers have another content type. Missing for a response without a body. */
      readonly body?: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
      readonly headers?: HeaderFields;
      /** Resolves when a streamed body has ended. */
      readonly ended?: Promise<StreamEnd>;
    };

/** Serves documents beside the API, without a key and without counting. Returns `undefined` for any other path. */
export type DocumentSource = (path: string, request: Request) => Promise<Reply | undefined>;

/** The three rate-limit headers. See lib/README.md#rate-limit-headers. */
export function rateLimitHeaders({ limit, remaining, resetsAt }: Quota): HeaderFields {
  return {
    "x-ratelimit-limit": `${limit}`,
    "x-ratelimit-remaining": `${remaining}`,
    "x-ratelimit-reset": `${Math.ceil(resetsAt / 1000)}`,
  };
}

/** The Error body of a code, as JSON. */
export function errorJson(code: ErrorCode): string {
  const { status, message } = ERRORS[code];
  return JSON.stringify({ code, message, status } satisfies ErrorBody);
}
