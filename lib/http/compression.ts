import type { Bytes, HeaderFields, Reply, WebBody } from "./reply.ts";
import type { RequestHead } from "./request.ts";

/** A longer `Accept-Encoding` is ignored: parsing it would cost more than the response. */
const MAX_HEADER_CHARS = 256;

/** True if `Accept-Encoding` allows gzip (RFC 9110, section 12.5.3). */
export function acceptsGzip(header: string | null): boolean {
  if (header === null || header.length > MAX_HEADER_CHARS) return false;
  const weights = new Map<string, number>();
  for (const entry of header.toLowerCase().split(",")) {
    const [coding = "", ...parameters] = entry.split(";").map((part) => part.trim());
    const weight = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2);
    weights.set(coding, weight === undefined ? 1 : Number(weight));
  }
  return (weights.get("gzip") ?? weights.get("x-gzip") ?? weights.get("*") ?? 0) > 0;
}

export function gzipped(body: WebBody): ReadableStream<Uint8Array> {
  const stream = body instanceof ReadableStream ? body : new Blob([body]).stream();
  return stream.pipeThrough(new CompressionStream("gzip"));
}

/** A larger document is sent only compressed: to send it plain would take longer than all other documents. */
const MAX_PLAIN_BYTES = 256 * 1024;

export function cachedDocument(
  content: string | Bytes,
  fields: HeaderFields = {},
): (request: RequestHead) => Promise<Reply> {
  const plain = typeof content === "string" ? new TextEncoder().encode(content) : content;
  const headers = { ...fields, vary: "accept-encoding" };
  const isLarge = plain.length > MAX_PLAIN_BYTES;
  let compressed: Promise<ArrayBuffer> | undefined;

  return async (request) => {
    const accepted = request.headers.get("accept-encoding");
    // A request without the header accepts every coding (RFC 9110, section 12.5.3).
    if (!acceptsGzip(accepted) && !(isLarge && accepted === null))
      return isLarge
        ? { error: "not_acceptable", headers: { vary: "accept-encoding" } }
        : { status: 200, headers, body: plain };
    compressed ??= compress(plain);
    const body = new Uint8Array(await compressed);
    return { status: 200, headers: { ...headers, "content-encoding": "gzip" }, body };
  };
}

/** Without a `Response`: on Node, the first one would load all of `fetch`. */
async function compress(plain: Bytes): Promise<ArrayBuffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of gzipped(plain)) chunks.push(chunk);
  return new Blob(chunks).arrayBuffer();
}
