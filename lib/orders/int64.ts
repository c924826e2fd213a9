const MIN = -(2n ** 63n);
const MAX = 2n ** 63n - 1n;
const CANONICAL = /^(?:0|-?[1-9]\d{0,18})$/;

/** True for a `bigint` within the range of a signed 64-bit integer. */
export function isInt64(value: bigint): boolean {
  return value >= MIN && value <= MAX;
}

/**
 * Reads an int64 from its one canonical decimal form: no plus sign, no leading zero, no exponent.
 * Anything else is `undefined`, so that a resource has exactly one address.
 */
export function parseInt64(text: string): bigint | undefined {
  if (!CANONICAL.test(text)) return undefined;
  const value = BigInt(text);
  return isInt64(value) ? value : undefined;
}

/**
 * `JSON.parse` that keeps every digit: an integer that a `number` cannot hold comes out as a `bigint`.
 * Throws `SyntaxError` as `JSON.parse` does.
 */
export function parseInt64Json(text: string): unknown {
  // A reviver makes parsing several times slower, so it is used only where a long run of digits calls for it.
  return /\d{16}/.test(text) ? JSON.parse(text, exactInteger as JsonReviver) : JSON.parse(text);
}

type JsonReviver = (key: string, value: unknown) => unknown;

// The third argument is ES2026's source text access, which the type library does not know yet.
function exactInteger(_key: string, value: unknown, context: { readonly source?: string }): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
  return context.source !== undefined && /^-?\d+$/.test(context.source) ? BigInt(context.source) : value;
}

/** `JSON.stringify` that writes a `bigint` as a JSON number with all its digits. */
export function toInt64Json(value: object): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === "bigint" ? rawJson(`${part}`) : part,
  );
}

// ES2026, in Node 24, not in the type library yet.
const { rawJSON: rawJson } = JSON as unknown as { rawJSON(text: string): object };
