import type { ErrorCode } from "../errors.ts";
import { MAX_URL_CHARS } from "../http/target.ts";

/** An error of Node's parser, with the input that was being parsed. */
export interface ParserError extends NodeJS.ErrnoException {
  readonly rawPacket?: Buffer;
}

/** The error to respond with. `lineBytes` is the length of the request line so far. */
export function parserErrorCode({ code, rawPacket }: ParserError, lineBytes: number): ErrorCode {
  switch (code) {
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return "request_timeout";
    case "HPE_HEADER_OVERFLOW":
      return lineBytes > MAX_URL_CHARS ? "uri_too_long" : "headers_too_large";
    case "HPE_INVALID_METHOD":
      return REQUEST_LINE.test(rawPacket?.toString("latin1") ?? "") ? "not_implemented" : "bad_request";
    default:
      return "bad_request";
  }
}

const REQUEST_LINE = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+ [!-~]+ HTTP\/1\.[01]\r\n/;
