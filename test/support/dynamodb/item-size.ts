import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import type { Item } from "../../../lib/stores/dynamodb/table.ts";

/**
 * The size of an item in bytes, by the rules in "DynamoDB item sizes and formats": names and texts in UTF-8, a number at
 * one byte for two significant digits and one more, a list or map at three bytes and one for each element. A negative
 * number takes one byte more, which the rules do not mention.
 */
export function itemSize(item: Item): number {
  return Object.entries(item).reduce(
    (sum, [name, value]) => sum + Buffer.byteLength(name) + valueSize(value),
    0,
  );
}

function valueSize({ S, N, M, L }: AttributeValue): number {
  if (S !== undefined) return Buffer.byteLength(S);
  if (N !== undefined) return numberSize(N);
  if (M !== undefined) return 3 + Object.keys(M).length + itemSize(M);
  if (L !== undefined) return 3 + L.reduce((sum, value) => sum + 1 + valueSize(value), 0);
  throw new Error("This type of value is not used.");
}

/** Pairs of digits are aligned to the decimal point, so an even number of digits may take one byte more. */
function numberSize(number: string): number {
  const whole = number.replace("-", "");
  const digits = whole.replace(/0+$/, "").length;
  const isSplit = digits > 0 && digits % 2 === 0 && whole.length % 2 === 1;
  return 1 + Math.ceil(digits / 2) + (isSplit ? 1 : 0) + (number.startsWith("-") ? 1 : 0);
}
