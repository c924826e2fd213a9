import type { IncomingMessage } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import { invalidInput } from "../core/errors.ts";
import { splitTarget } from "../core/request-target.ts";
import { MAX_BODY_BYTES } from "../http/body.ts";
import type { ErrorCode } from "../http/errors.ts";
import { MAX_URL_CHARS } from "../http/path.ts";
import { MAX_HEADER_FIELDS } from "./limits.ts";

/** A request of Node, over HTTP/1 or HTTP/2. */
export type NodeRequest = IncomingMessage | Http2ServerRequest;

/** The requested host. Over HTTP/2, it is in `:authority`; in HTTP/1.0, it may only be in an absolute target. */
export function hostOfRequest({
  headers,
  url = "",
}: Pick<NodeRequest, "headers" | "url">): string | undefined {
  return (headers[":authority"] as string | undefined) ?? headers.host ?? splitTarget(url).authority;
}

/** Finds syntax that Node accepts although a proxy could parse it differently (RFC 9112, sections 2.3, 3.2 and 6.1). */
export function validateRequest(req: NodeRequest): ErrorCode | undefined {
  const { url = "", method, httpVersion, headers } = req;
  if (url.length > MAX_URL_CHARS) return "uri_too_long";
  const isHttp2 = "stream" in req;
  if (!isHttp2 && httpVersion !== "1.1" && httpVersion !== "1.0") return "bad_request";

  if (req.rawHeaders.length > 2 * MAX_HEADER_FIELDS) return "headers_too_large";

  const host = hostOfRequest(req);
  // Node's `headers` hides duplicates.
  const hosts = req.rawHeaders.filter((name, index) => index % 2 === 0 && /^host$/i.test(name)).length;
  const isNamed = hostOfRequest({ headers }) !== undefined;
  if (hosts > 1 || (!isNamed && httpVersion !== "1.0")) return "bad_request";
  // RFC 9113, section 8.3.1.
  if (hosts === 1 && headers.host !== host) return "bad_request";
  if (!HOST.test(host ?? "")) return "bad_request";
  if (!isTarget(url, method, host)) return "bad_request";

  const coding = headers["transfer-encoding"];
  if (coding !== undefined && (httpVersion === "1.0" || coding.toLowerCase() !== "chunked"))
    return "bad_request";
  if (Number(headers["content-length"] ?? 0) > MAX_BODY_BYTES) return "request_too_large";
  // A host that fits the grammar can still not form a URL, such as `x:99999`.
  return URL.canParse(`http://${host || "localhost"}/`) ? undefined : "bad_request";
}

const HOST = /^(?:[a-z0-9._-]*|\[[0-9a-f:.]+\])(?::\d{0,5})?$/i;

/** True for a path, a URL whose host equals the Host field, or the asterisk of OPTIONS, without a fragment. */
function isTarget(url: string, method: string | undefined, host: string | undefined): boolean {
  if (url.includes("#")) return false;
  if (url.startsWith("/")) return true;
  if (url === "*") return method === "OPTIONS";
  const { authority = "" } = splitTarget(url);
  return authority !== "" && authority.toLowerCase() === (host ?? authority).toLowerCase();
}

/** How many proxies in front of the service are trusted. Throws `InvalidInputError` for a number that counts none. */
export function countProxies(trustProxy: boolean | number): number {
  const count = Number(trustProxy);
  if (Number.isInteger(count) && count >= 0) return count;
  throw invalidInput("trustProxy", "Use true for one trusted proxy, or the number of them.");
}

/**
 * Behind trusted proxies, the entry of `X-Forwarded-For` that the first of them has added. A client can forge those
 * before it, and a longer entry than an address can be is ignored.
 */
export function callerAddress(req: NodeRequest, proxies: number): { readonly address?: string } {
  const entries = `${req.headers["x-forwarded-for"] ?? ""}`.split(",");
  const forwarded = proxies > 0 ? entries.at(-proxies)?.trim() : "";
  if (!forwarded) return req.socket.remoteAddress === undefined ? {} : { address: req.socket.remoteAddress };
  if (forwarded.length > MAX_ADDRESS_CHARS) return {};
  // A copy: a part of a string keeps the whole header in memory, for as long as the caller is tracked.
  return { address: Buffer.from(forwarded, "latin1").toString("latin1") };
}

/** The longest address: IPv6 with IPv4 at its end, in brackets, with the name of an interface and a port. */
const MAX_ADDRESS_CHARS = 80;

export function hasBody(req: NodeRequest): boolean {
  if ("stream" in req) return !req.stream.endAfterHeaders;
  const { headers } = req;
  return headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";
}

/** True over HTTP/2 if the client has reset the request. Its body then ends as if it were complete. */
export function isReset(req: NodeRequest): boolean {
  return "stream" in req && (req.aborted || req.stream.closed);
}

/** Resolves to `undefined`, or why the body has not been received. Nothing is kept of it. */
export function receiveBody(
  req: NodeRequest,
  maxBytes = MAX_BODY_BYTES,
): Promise<ErrorCode | "aborted" | undefined> {
  return new Promise((resolve) => {
    let size = 0;
    req.on("data", (part: Buffer) => {
      size += part.length;
      if (size > maxBytes) resolve("request_too_large");
    });
    req.once("end", () => resolve(isReset(req) ? "aborted" : undefined));
    req.once("close", () => resolve("aborted"));
    req.on("error", () => resolve("aborted"));
  });
}

/** The error to respond with. The URL may be what is too large in a head that Node does not parse to its end. */
export function parserErrorCode({ code, rawPacket }: ParserError): ErrorCode {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return "request_timeout";
  if (code === "HPE_HEADER_OVERFLOW") return "headers_too_large";
  const isMethod = code === "HPE_INVALID_METHOD" && REQUEST_LINE.test(rawPacket?.toString("latin1") ?? "");
  return isMethod ? "not_implemented" : "bad_request";
}

interface ParserError extends NodeJS.ErrnoException {
  readonly rawPacket?: Buffer;
}

const REQUEST_LINE = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+ [!-~]+ HTTP\/1\.[01]\r\n/;
