import { type ResponseBody, toWebBody } from "./body.ts";

/** What the handler reads of a request. A `Request` is one; a server can pass something that is cheaper to create. */
export interface RequestHead {
  readonly method: string;
  readonly url: string;
  readonly headers: {
    /** The value of a header; those of one that occurs several times are joined with commas. */
    get(name: string): string | null;
  };
}

/** A response as plain data. */
export interface PlainResponse {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: ResponseBody | null;
}

/** Creates a `Response` from plain data. */
export function toResponse({ status, headers, body }: PlainResponse): Response {
  // Cloudflare Workers would compress a body with this header again. Other runtimes ignore the option.
  const encoding = "content-encoding" in headers ? { encodeBody: "manual" } : {};
  return new Response(body === null ? null : toWebBody(body), { status, headers, ...encoding });
}
