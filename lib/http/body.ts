import { ERRORS, type ErrorCode } from "./errors.ts";
import type { RequestHead } from "./request.ts";

export const BODY_METHODS: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);

/** The largest body of a request whose operation takes none, in bytes: the limit of API Gateway. */
export const MAX_BODY_BYTES: number = 10 * 1024 * 1024;

const MAX_BODY_MS = 30_000;
export const EMPTY = new Uint8Array();

/** Receives a body within its limits. Returns the error of one that is too large, late or incomplete. */
export async function receive(
  { body, headers }: RequestHead,
  maxBytes: number,
  read = collect,
): Promise<Uint8Array | ErrorCode> {
  if (!body) return EMPTY;
  if (Number(headers.get("content-length")) > maxBytes) return "request_too_large";
  const { promise: late, resolve } = Promise.withResolvers<"request_timeout">();
  const timer = setTimeout(() => resolve("request_timeout"), MAX_BODY_MS);
  try {
    return await Promise.race([read(body, maxBytes), late]);
  } catch (error) {
    const { code } = Object(error);
    return Object.hasOwn(ERRORS, `${code}`) ? code : "bad_request";
  } finally {
    clearTimeout(timer);
  }
}

/** Copies the parts of a body, because a small one can be part of a large buffer. */
async function collect(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Uint8Array | ErrorCode> {
  let bytes = EMPTY;
  let size = 0;
  for await (const part of body) {
    const end = size + part.length;
    if (end > maxBytes) return "request_too_large";
    if (end > bytes.length) {
      const larger = new Uint8Array(Math.min(maxBytes, 2 * end));
      larger.set(bytes);
      bytes = larger;
    }
    bytes.set(part, size);
    size = end;
  }
  return bytes.subarray(0, size);
}

/** Receives a body that nobody wants, without keeping it. Returns the error of one that is too large, late or incomplete. */
export async function skipBody(request: RequestHead): Promise<ErrorCode | undefined> {
  const result = request.bodyUsed === true ? EMPTY : await receive(request, MAX_BODY_BYTES, skip);
  return typeof result === "string" ? result : undefined;
}

async function skip(body: AsyncIterable<Uint8Array>, maxBytes: number) {
  let size = 0;
  for await (const part of body) {
    size += part.length;
    if (size > maxBytes) return "request_too_large";
  }
  return EMPTY;
}
