import type { IncomingMessage } from "node:http";
import type { ErrorCode } from "../errors.ts";
import { MAX_BODY_BYTES, MAX_URL_CHARS } from "./connection-limits.ts";

/**
 * What is wrong with a request that Node's parser lets pass: whatever one server could read otherwise than another one
 * in front of it (RFC 9112, sections 2.3, 3.2 and 6.1). `undefined` where there is nothing.
 */
export function validateRequest(req: IncomingMessage, request: Request): ErrorCode | undefined {
  const { url = "", method, httpVersion, headers } = req;
  if (url.length > MAX_URL_CHARS) return "uri_too_long";
  if (httpVersion !== "1.1" && httpVersion !== "1.0") return "bad_request";

  const hosts = countOf("host", req.rawHeaders);
  if (hosts > 1 || (hosts === 0 && httpVersion === "1.1")) return "bad_request";
  if (!HOST.test(headers.host ?? "")) return "bad_request";
  if (!isTarget(url, method, headers.host)) return "bad_request";

  const coding = headers["transfer-encoding"];
  if (coding !== undefined && (httpVersion === "1.0" || coding.toLowerCase() !== "chunked"))
    return "bad_request";
  if (Number(headers["content-length"] ?? 0) > MAX_BODY_BYTES) return "request_too_large";
  return hasUrl(request) ? undefined : "bad_request";
}

/** A host and a path that fit their grammars can still not make a URL. */
function hasUrl(request: Request): boolean {
  try {
    return request.url !== "";
  } catch {
    return false;
  }
}

/** A name or an address, and a port. */
const HOST = /^(?:[a-z0-9._-]*|\[[0-9a-f:.]+\])(?::\d{0,5})?$/i;

/** A path; a URL of the same host as the field says; or, of OPTIONS, the asterisk. None has a fragment. */
function isTarget(url: string, method: string | undefined, host: string | undefined): boolean {
  if (url.includes("#")) return false;
  if (url.startsWith("/")) return true;
  if (url === "*") return method === "OPTIONS";
  const authority = /^https?:\/\/([^/?]+)/i.exec(url)?.[1];
  return authority !== undefined && authority.toLowerCase() === (host ?? authority).toLowerCase();
}

/** How often a field stands in a head: Node keeps the first and drops the others unseen. */
function countOf(field: string, rawHeaders: readonly string[]): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? "";
    if (name.length === field.length && name.toLowerCase() === field) count++;
  }
  return count;
}
