import { randomBase62 } from "../core/base62.ts";

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
  return parseJsonNumbers(text, NEEDS_SOURCE_TEXT, readExactly);
}

/** A property or array item with a fraction, an exponent, or more digits than a `number` holds exactly; a number alone. */
const NEEDS_SOURCE_TEXT = /(?:"\s*:|[[,])\s*-?(?:\d+[.eE]|\d{16})|^\s*-?\d/;

function readExactly(source: string): number | bigint | undefined {
  if (!/^-?\d+$/.test(source)) return Number.isInteger(Number(source)) ? Number.NaN : undefined;
  return Number.isSafeInteger(Number(source)) ? undefined : BigInt(source);
}

/** The deepest nesting that `parseJsonNumbers` reads: far more than data has, and safe for code that recurses. */
const MAX_JSON_DEPTH = 2_000;

/**
 * `JSON.parse` with numbers of one's own: `read` gets the text of each that has a fraction, an exponent or at least 16
 * characters, and returns what it is, or `undefined` for a double. Nothing is read from a text that `needed` does not
 * match. Throws `SyntaxError`, also for too deep a nesting.
 *
 * A reviver gets these texts too, but takes 40 times as long as `JSON.parse`. Here one scan replaces each number by a
 * string that no sender can know, and only a text with such a number is searched for them afterwards.
 */
export function parseJsonNumbers(
  text: string,
  needed: RegExp,
  read: (source: string) => number | bigint | undefined,
): unknown {
  if (!needed.test(text) && !canBeDeep(text)) return JSON.parse(text);
  const values: (number | bigint)[] = [];
  let mark = "";
  let marked = "";
  let copied = 0;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === QUOTE) at = endOfString(text, at);
    // An opening and a closing bracket or brace differ by 2.
    else if (char === BRACKET || char === BRACE) {
      if (++depth > MAX_JSON_DEPTH) throw new SyntaxError("The JSON is nested too deeply.");
    } else if (char === BRACKET + 2 || char === BRACE + 2) depth--;
    else if (char === MINUS || isDigit(char)) {
      const start = at;
      let isInteger = true;
      let next = text.charCodeAt(at + 1);
      while (isDigit(next) || isInExponent(next)) {
        isInteger &&= isDigit(next);
        next = text.charCodeAt(++at + 1);
      }
      if (isInteger && at - start < 15) continue;
      const source = text.slice(start, at + 1);
      const value = read(source);
      if (value === undefined || !JSON_NUMBER.test(source)) continue;
      mark ||= randomBase62(22);
      marked += `${text.slice(copied, start)}"${mark}${values.push(value) - 1}"`;
      copied = at + 1;
    }
  }
  if (mark === "") return JSON.parse(text);

  const unmark = (part: unknown): unknown => {
    if (typeof part === "string")
      return part.startsWith(mark) ? values[Number(part.slice(mark.length))] : part;
    if (Array.isArray(part))
      for (let index = 0; index < part.length; index++) part[index] = unmark(part[index]);
    else if (typeof part === "object" && part !== null)
      for (const [key, value] of Object.entries(part)) {
        if (key.startsWith(mark)) throw new SyntaxError("A key is not a string.");
        (part as Record<string, unknown>)[key] = unmark(value);
      }
    return part;
  };
  return unmark(JSON.parse(marked + text.slice(copied)));
}

const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const BRACKET = 0x5b;
const BRACE = 0x7b;
const MINUS = 0x2d;
const isDigit = (char: number) => char >= 0x30 && char <= 0x39;
/** True for `.`, `e`, `E`, `+` and `-`. */
const isInExponent = (char: number) =>
  char === 0x2e || (char | 0x20) === 0x65 || char === 0x2b || char === MINUS;

/** False for a text with few brackets and braces, as most are. */
function canBeDeep(text: string): boolean {
  let count = 0;
  for (const open of "[{")
    for (let at = text.indexOf(open); at !== -1; at = text.indexOf(open, at + 1))
      if (++count > MAX_JSON_DEPTH) return true;
  return false;
}

/** The index of the quotation mark that ends the string which begins at `start`. */
function endOfString(text: string, start: number): number {
  const at = text.indexOf('"', start + 1);
  if (at !== -1 && text.charCodeAt(at - 1) !== BACKSLASH) return at;
  UNESCAPED_QUOTE.lastIndex = start + 1;
  return UNESCAPED_QUOTE.test(text) ? UNESCAPED_QUOTE.lastIndex - 1 : text.length;
}

const UNESCAPED_QUOTE = /(?<!\\)(?:\\\\)*"/g;

/** `JSON.stringify` that writes a `bigint` as a JSON number with all its digits. */
export function toInt64Json(value: object): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === "bigint" ? rawJson(`${part}`) : part,
  );
}

// ES2026, in Node 24, not in the type library yet.
const { rawJSON: rawJson } = JSON as unknown as { rawJSON(text: string): object };
