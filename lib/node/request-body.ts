import type { IncomingMessage } from "node:http";
import type { ErrorCode } from "../errors.ts";
import { MAX_BODY_BYTES } from "./connection-limits.ts";

/** How the arrival of a request ended: whole, with what was wrong, or with its client gone. */
export type Arrival = "whole" | "left" | { readonly fault: ErrorCode };

/** True where a body follows the head of a request. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";
}

/** Takes a body off the wire and drops it, as no operation has a use for one. */
export function dropBody(req: IncomingMessage): Promise<Arrival> {
  return new Promise((resolve) => {
    let size = 0;
    req.on("data", (part: Buffer) => {
      size += part.length;
      if (size > MAX_BODY_BYTES) resolve({ fault: "request_too_large" });
    });
    req.once("end", () => resolve("whole"));
    req.once("close", () => resolve("left"));
    req.on("error", () => resolve("left"));
  });
}
