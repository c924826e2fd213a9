import { randomBytes } from "node:crypto";
import type { Item } from "./item.ts";

/**
 * Creates a token that identifies one write. A write whose response was lost is retried and then fails its own
 * condition. The token in the stored item shows that it was applied. It is kept
 *
 * - in `tokens` of an account, the last few, by the writes that count a request or rejections: they are frequent, and
 *   another one can follow before the retry. See `onceOnly`.
 * - in `revision` of an account, by a change of an operator. It is a version as well: whatever was decided from another
 *   revision is decided again.
 * - in `<event>Mark` of an order, by each event: the same event cannot follow before the retry, or changes nothing.
 */
export function newWriteToken(): string {
  return randomBytes(5).toString("base64url").slice(0, 6);
}

/** True if an attribute of the item holds this token. */
export function hasToken(item: Item | undefined, attribute: string, token: string): boolean {
  return item?.[attribute]?.S === token;
}
