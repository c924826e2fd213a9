import { randomBytes } from "node:crypto";
import type { Item } from "./item.ts";

/**
 * What tells one write from every other. A write whose answer was lost is sent again and then fails on its own
 * doing; the mark that it finds there says so.
 */
export interface WriteToken {
  readonly S: string;
}

/** Makes a mark. */
export function newWriteToken(): WriteToken {
  return { S: randomBytes(6).toString("base64url") };
}

/** True where an attribute of the item carries this very mark. */
export function hasToken(item: Item | undefined, attribute: string, mark: WriteToken): boolean {
  return item?.[attribute]?.S === mark.S;
}
