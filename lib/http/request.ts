import type { ErrorCode } from "./errors.ts";

/** The part of a request that the handler reads. A `Request` is one; a server can pass one that is cheaper to create. */
export interface RequestHead {
  readonly method: string;
  readonly url: string;
  readonly headers: {
    /** The value of a header; those of one that occurs several times are joined with commas. */
    get(name: string): string | null;
  };
  /** Absent for other methods than `POST`, `PUT` and `PATCH` if the server receives the whole body first. */
  readonly body?: AsyncIterable<Uint8Array> | null | undefined;
  readonly bodyUsed?: boolean;
}

/** The facts about a request that only the runtime knows. A field of another type is ignored. */
export interface RequestContext {
  /** The IP address of the caller. Without it, all unauthenticated callers share one limit. */
  readonly address?: string | undefined;
  /** The raw request target. Without it the URL of the request is read, in which dot segments are already resolved. */
  readonly target?: string | undefined;
  /** The target before a framework has removed a prefix from it: redirects lead below the prefix. @default `target` */
  readonly originalTarget?: string | undefined;
  /** The requested host, if the runtime knows it better than the `Host` header. */
  readonly host?: string | undefined;
  /** Up to 200 characters of printable ASCII; any other is ignored. @default a random UUID */
  readonly requestId?: string | undefined;
  readonly requestError?: ErrorCode | undefined;
}

/** The key that a request presents: `Authorization: Bearer`, otherwise the first of the further headers that it has. */
export function presentedKey(
  headers: RequestHead["headers"],
  names: readonly string[] = [],
): string | undefined {
  const bearer = /^bearer +(.*)/i.exec(headers.get("authorization") ?? "")?.[1];
  return bearer?.trim() || (names.map((name) => headers.get(name)?.trim()).find(Boolean) ?? bearer);
}

/** RFC 9110, section 5. */
export const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/i;
export const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
