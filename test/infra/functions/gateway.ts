import { expect } from "vitest";
import type { Posted } from "./runtime-api.ts";

/** The response that API Gateway derives from the output of a function. */
export interface GatewayResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer;
  /** In how many parts it was received. */
  readonly chunks: number;
  /** The type of the error that ended a streamed response early. */
  readonly streamError: string | undefined;
}

/** Parses the response of a buffered function as strictly as API Gateway, which otherwise responds with 502. */
export function readBuffered({ as, chunks }: Posted): GatewayResponse {
  expect(as).toBe("response");
  const result = JSON.parse(Buffer.concat(chunks).toString());
  expect(Object.keys(result).toSorted()).toEqual(["body", "headers", "isBase64Encoded", "statusCode"]);
  expect(result.isBase64Encoded).toBe(false);
  return { ...headOf(result), body: Buffer.from(result.body), chunks: 1, streamError: undefined };
}

/** The metadata must end, with eight zero bytes, within the first 16 KB. */
const MAX_METADATA_BYTES = 16 * 1024;
const DELIMITER = Buffer.alloc(8);

/** Parses the response of a streaming function: metadata, eight zero bytes, and the body. */
export function readStreamed({ as, headers, chunks, trailers }: Posted): GatewayResponse {
  expect(as).toBe("response");
  expect(headers["lambda-runtime-function-response-mode"]).toBe("streaming");
  expect(headers["content-type"]).toBe("application/vnd.awslambda.http-integration-response");
  const bytes = Buffer.concat(chunks);
  const end = bytes.indexOf(DELIMITER);
  expect(end).toBeGreaterThan(0);
  expect(end + DELIMITER.length).toBeLessThanOrEqual(MAX_METADATA_BYTES);
  const body = bytes.subarray(end + DELIMITER.length);
  expect(body.length, "a response without a body hangs").toBeGreaterThan(0);
  const metadata = JSON.parse(bytes.subarray(0, end).toString());
  expect(Object.keys(metadata).toSorted()).toEqual(["headers", "statusCode"]);
  const streamError = trailers["lambda-runtime-function-error-type"];
  return { ...headOf(metadata), body, chunks: chunks.length, streamError };
}

function headOf({ statusCode, headers }: { statusCode: unknown; headers: Record<string, unknown> }) {
  expect(Number.isInteger(statusCode)).toBe(true);
  for (const value of Object.values(headers)) expect(typeof value).toBe("string");
  return { status: Number(statusCode), headers: new Headers(headers as Record<string, string>) };
}
