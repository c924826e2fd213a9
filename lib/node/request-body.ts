import type { IncomingMessage } from "node:http";
import type { ErrorCode } from "../errors.ts";
import { MAX_BODY_BYTES } from "./connection-limits.ts";

/** How receiving a request ended: complete, aborted by the client, or invalid. */
export type BodyResult = "complete" | "aborted" | { readonly error: ErrorCode };

/** True if a body follows the head of the request. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";
}

/** Reads a body to its end and discards it: no operation takes one. */
export function discardBody(req: IncomingMessage): Promise<BodyResult> {
  return new Promise((resolve) => {
    let size = 0;
    req.on("data", (part: Buffer) => {
      size += part.length;
      if (size > MAX_BODY_BYTES) resolve({ error: "request_too_large" });
    });
    req.once("end", () => resolve("complete"));
    req.once("close", () => resolve("aborted"));
    req.on("error", () => resolve("aborted"));
  });
}
