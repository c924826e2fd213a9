import { randomBytes } from "node:crypto";
import type { Item } from "./item.ts";

/**
 * Creates a token that identifies one write. A write whose response was lost is retried and then fails its own
 * condition. The token in the stored item shows that it was applied.
 */
export function newWriteToken(): string {
  return randomBytes(5).toString("base64url").slice(0, 6);
}

/** True if an attribute of the item holds this token. */
export function hasToken(item: Item | undefined, attribute: string, token: string): boolean {
  return item?.[attribute]?.S === token;
}
