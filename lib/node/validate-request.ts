import type { IncomingMessage } from "node:http";
import type { ErrorCode } from "../errors.ts";
import { MAX_URL_CHARS, targetOf } from "../http/target.ts";
import { MAX_BODY_BYTES, MAX_HEADER_FIELDS } from "./connection-limits.ts";

/**
 * Finds what Node's parser accepts although a proxy could parse it differently (request smuggling; RFC 9112, sections
 * 2.3, 3.2 and 6.1). Returns the error, or `undefined` for a valid request.
 */
export function validateRequest(req: IncomingMessage): ErrorCode | undefined {
  const { url = "", method, httpVersion, headers } = req;
  if (url.length > MAX_URL_CHARS) return "uri_too_long";
  if (httpVersion !== "1.1" && httpVersion !== "1.0") return "bad_request";

  if (req.rawHeaders.length > 2 * MAX_HEADER_FIELDS) return "headers_too_large";

  const hosts = countFields("host", req.rawHeaders);
  if (hosts > 1 || (hosts === 0 && httpVersion === "1.1")) return "bad_request";
  if (!HOST.test(headers.host ?? "")) return "bad_request";
  if (!isTarget(url, method, headers.host)) return "bad_request";

  const coding = headers["transfer-encoding"];
  if (coding !== undefined && (httpVersion === "1.0" || coding.toLowerCase() !== "chunked"))
    return "bad_request";
  if (Number(headers["content-length"] ?? 0) > MAX_BODY_BYTES) return "request_too_large";
  return isUrlHost(headers.host) ? undefined : "bad_request";
}

/** The target as received, without the scheme and the authority that an absolute one has. */
export function targetOfRequest({ url = "/" }: IncomingMessage): string {
  return url.startsWith("/") || url === "*" ? url : targetOf(url);
}

let lastHost: string | undefined;

/** A host that fits the grammar can still not form a URL, such as `x:99999`. Remembers the last valid one. */
function isUrlHost(host = "localhost"): boolean {
  if (host === lastHost || host === "") return true;
  if (!URL.canParse(`http://${host}/`)) return false;
  lastHost = host;
  return true;
}

/** A name or an address, with an optional port. */
const HOST = /^(?:[a-z0-9._-]*|\[[0-9a-f:.]+\])(?::\d{0,5})?$/i;

/**
 * True for a path, for a URL whose host equals the Host field, and for the asterisk of OPTIONS; none has a fragment.
 */
function isTarget(url: string, method: string | undefined, host: string | undefined): boolean {
  if (url.includes("#")) return false;
  if (url.startsWith("/")) return true;
  if (url === "*") return method === "OPTIONS";
  const authority = /^https?:\/\/([^/?]+)/i.exec(url)?.[1];
  return authority !== undefined && authority.toLowerCase() === (host ?? authority).toLowerCase();
}

/** How often a field occurs in a head. Node's `headers` would hide duplicates. */
function countFields(field: string, rawHeaders: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? "";
    if (name.length === field.length && name.toLowerCase() === field) count++;
  }
  return count;
}
