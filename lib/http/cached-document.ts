import { acceptsGzip, gzipped } from "./gzip.ts";
import type { RequestHead } from "./plain-response.ts";
import type { HeaderFields, Reply } from "./reply.ts";

/**
 * Serves a document that does not change. Its bytes are kept in memory, plain and compressed, and shared by all
 * responses: a document needs no key and is not counted, so each request must cost little.
 */
export function cachedDocument(
  content: string | Uint8Array<ArrayBuffer>,
  fields: HeaderFields = {},
): (request: RequestHead) => Promise<Reply> {
  const plain = typeof content === "string" ? new TextEncoder().encode(content) : content;
  const headers = { ...fields, vary: "accept-encoding" };
  let compressed: Promise<ArrayBuffer> | undefined;

  return async (request) => {
    if (!acceptsGzip(request.headers.get("accept-encoding"))) return { status: 200, headers, body: plain };
    compressed ??= new Response(gzipped(new Blob([plain]).stream())).arrayBuffer();
    const body = new Uint8Array(await compressed);
    return { status: 200, headers: { ...headers, "content-encoding": "gzip" }, body };
  };
}
