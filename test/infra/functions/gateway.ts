import { expect } from "vitest";
import type { Posted } from "./runtime-api.ts";

/** A response as API Gateway makes it of what a function posted. */
export interface GatewayResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer;
  /** The type of the error that a streamed answer broke off with. */
  readonly broken: string | undefined;
}

/** Reads the answer of a buffered function as strictly as API Gateway, which makes a 502 of anything else. */
export function readBuffered({ as, chunks }: Posted): GatewayResponse {
  expect(as).toBe("response");
  const result = JSON.parse(Buffer.concat(chunks).toString());
  expect(Object.keys(result).toSorted()).toEqual(["body", "headers", "isBase64Encoded", "statusCode"]);
  expect(result.isBase64Encoded).toBe(false);
  return { ...headOf(result), body: Buffer.from(result.body), broken: undefined };
}

/** Status and headers have to be within the first 16 KB, and eight zero bytes end them. */
const LONGEST_HEAD = 16 * 1024;
const DELIMITER = Buffer.alloc(8);

/** Reads the answer of a streaming function: metadata, eight zero bytes, and the body as it is. */
export function readStreamed({ as, headers, chunks, trailers }: Posted): GatewayResponse {
  expect(as).toBe("response");
  expect(headers["lambda-runtime-function-response-mode"]).toBe("streaming");
  expect(headers["content-type"]).toBe("application/vnd.awslambda.http-integration-response");
  const bytes = Buffer.concat(chunks);
  const end = bytes.indexOf(DELIMITER);
  expect(end).toBeGreaterThan(0);
  expect(end + DELIMITER.length).toBeLessThanOrEqual(LONGEST_HEAD);
  const body = bytes.subarray(end + DELIMITER.length);
  expect(body.length, "an answer without a body hangs").toBeGreaterThan(0);
  const metadata = JSON.parse(bytes.subarray(0, end).toString());
  expect(Object.keys(metadata).toSorted()).toEqual(["headers", "statusCode"]);
  return { ...headOf(metadata), body, broken: trailers["lambda-runtime-function-error-type"] };
}

function headOf({ statusCode, headers }: { statusCode: unknown; headers: Record<string, unknown> }) {
  expect(Number.isInteger(statusCode)).toBe(true);
  for (const value of Object.values(headers)) expect(typeof value).toBe("string");
  return { status: Number(statusCode), headers: new Headers(headers as Record<string, string>) };
}
