/** The least integer of 64 bits. */
export const MIN_INT64 = -(2n ** 63n);
/** The greatest integer of 64 bits. */
export const MAX_INT64 = 2n ** 63n - 1n;
const CANONICAL = /^(?:0|-?[1-9]\d{0,18})$/;

/** True for a `bigint` within the range of a signed 64-bit integer. */
export function isInt64(value: bigint): boolean {
  return value >= MIN_INT64 && value <= MAX_INT64;
}

/** Reads an int64 from its one canonical decimal form, so that a resource has exactly one address. */
export function parseInt64(text: string): bigint | undefined {
  if (!CANONICAL.test(text)) return undefined;
  const value = BigInt(text);
  return isInt64(value) ? value : undefined;
}

/**
 * `JSON.parse` with exact integers: one that a `number` cannot represent becomes a `bigint`. A number with a fraction
 * or an exponent never becomes an integer: `1.0`, `1e1` and `4503599627370496.64` are `NaN`.
 */
export function parseInt64Json(text: string): unknown {
  // A reviver makes parsing several times slower, so it is used only if a number needs it.
  return NEEDS_SOURCE_TEXT.test(text) || STARTS_WITH_NUMBER.test(text)
    ? JSON.parse(text, readExactly as JsonReviver)
    : JSON.parse(text);
}

/** A property or array item with a fraction, an exponent, or more digits than a `number` holds exactly. */
const NEEDS_SOURCE_TEXT = /(?:"\s*:|[[,])\s*-?(?:\d+[.eE]|\d{16})/;
const STARTS_WITH_NUMBER = /^\s*-?\d/;

type JsonReviver = (key: string, value: unknown) => unknown;

// The third argument is ES2026's source text access, which the type library does not know yet.
function readExactly(_key: string, value: unknown, { source }: { readonly source?: string } = {}): unknown {
  if (source === undefined) return value;
  if (!/^-?\d+$/.test(source)) return Number.isInteger(value) ? Number.NaN : value;
  return Number.isSafeInteger(value) ? value : BigInt(source);
}

/** `JSON.stringify` that writes a `bigint` as a JSON number with all its digits. */
export function toInt64Json(value: object): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === "bigint" ? rawJson(`${part}`) : part,
  );
}

// ES2026, in Node 24, not in the type library yet.
const { rawJSON: rawJson } = JSON as unknown as { rawJSON(text: string): object };
