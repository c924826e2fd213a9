import type { WebBody } from "./body.ts";

/** Compresses a body as gzip (RFC 1952) while it is being read. */
export function gzipped(body: WebBody): ReadableStream<Uint8Array> {
  const stream = body instanceof ReadableStream ? body : new Blob([body]).stream();
  return stream.pipeThrough(new CompressionStream("gzip"));
}

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
