import { randomBase62 } from "../core/base62.ts";

export const MIN_INT64 = -(2n ** 63n);
export const MAX_INT64 = 2n ** 63n - 1n;
const CANONICAL = /^(?:0|-?[1-9]\d{0,18})$/;

export function isInt64(value: bigint): boolean {
  return value >= MIN_INT64 && value <= MAX_INT64;
}

/** Reads an int64 from its one canonical decimal form, so that a resource has exactly one address. */
export function parseInt64(text: string): bigint | undefined {
  if (!CANONICAL.test(text)) return undefined;
  const value = BigInt(text);
  return isInt64(value) ? value : undefined;
}

/** `JSON.parse` with exact integers: `bigint` beyond 2^53. What only looks whole is `NaN`: `1.0`, `4503599627370496.64`. */
export function parseInt64Json(text: string): unknown {
  return NEEDS_SOURCE_TEXT.test(text) ? parseJsonNumbers(text, NUMBER, readExactly) : JSON.parse(text);
}

/** A property or array item with a fraction, an exponent, or more digits than a `number` holds exactly; a number alone. */
const NEEDS_SOURCE_TEXT = /(?:"\s*:|[[,])\s*-?(?:\d+[.eE]|\d{16})|^\s*-?\d/;
const NUMBER = /(?<![\d.eE+-])-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\d.eE+-])/g;

function readExactly(source: string): number | bigint {
  const value = Number(source);
  if (!/^-?\d+$/.test(source)) return Number.isInteger(value) ? Number.NaN : value;
  return Number.isSafeInteger(value) ? value : BigInt(source);
}

/**
 * `JSON.parse`, where `read` gets the text of each number that matches `numbers`, which is global. Throws
 * `SyntaxError`, also for too deep a nesting. A reviver takes 40 times as long. Here each number becomes a list of one
 * string that no sender can know, which cannot be a key either, and only JSON that has one is searched for them.
 */
export function parseJsonNumbers(
  text: string,
  numbers: RegExp,
  read: (source: string) => number | bigint,
): unknown {
  limitDepth(text);
  let mark = "";
  let marked = "";
  let copied = 0;
  let end = 0;
  let quote = findQuote(text, 0);
  numbers.lastIndex = 0;
  for (let found = numbers.exec(text); found !== null; found = numbers.exec(text)) {
    while (quote < found.index) {
      end = endOfString(text, quote) + 1;
      quote = findQuote(text, end);
    }
    if (found.index < end) numbers.lastIndex = end;
    else {
      mark ||= randomBase62(22);
      marked += `${text.slice(copied, found.index)}["${mark}${found[0]}"]`;
      copied = numbers.lastIndex;
    }
  }
  if (mark === "") return JSON.parse(text);

  const unmark = (part: unknown): unknown => {
    if (Array.isArray(part)) {
      const [first] = part;
      if (typeof first === "string" && first.startsWith(mark)) return read(first.slice(mark.length));
      for (let index = 0; index < part.length; index++) part[index] = unmark(part[index]);
    } else if (typeof part === "object" && part !== null)
      for (const [key, value] of Object.entries(part)) (part as Record<string, unknown>)[key] = unmark(value);
    return part;
  };
  return unmark(JSON.parse(marked + text.slice(copied)));
}

/** The deepest nesting that `parseJsonNumbers` reads: far more than data has, and safe for code that recurses. */
const MAX_JSON_DEPTH = 2_000;

function limitDepth(text: string): void {
  let count = 0;
  for (const open of "[{")
    for (let at = text.indexOf(open); at !== -1 && count <= MAX_JSON_DEPTH; at = text.indexOf(open, at + 1))
      count++;
  // Most texts have no more of them.
  if (count <= MAX_JSON_DEPTH) return;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === '"') at = endOfString(text, at);
    else if (char === "[" || char === "{") depth++;
    else if (char === "]" || char === "}") depth--;
    if (depth > MAX_JSON_DEPTH) throw new SyntaxError("The JSON is nested too deeply.");
  }
}

function findQuote(text: string, from: number): number {
  const at = text.indexOf('"', from);
  return at === -1 ? text.length : at;
}

function endOfString(text: string, start: number): number {
  const at = findQuote(text, start + 1);
  if (text[at - 1] !== "\\") return at;
  UNESCAPED_QUOTE.lastIndex = start + 1;
  return UNESCAPED_QUOTE.test(text) ? UNESCAPED_QUOTE.lastIndex - 1 : text.length;
}

const UNESCAPED_QUOTE = /(?<!\\)(?:\\\\)*"/g;

/** `JSON.stringify` that writes a `bigint` as a JSON number with all its digits, also if programs give it a `toJSON`. */
export function toInt64Json(value: object): string {
  return JSON.stringify(value, function (this: Record<string, unknown>, key, part: unknown) {
    const number = typeof this[key] === "bigint" ? this[key] : part;
    return typeof number === "bigint" ? rawJson(`${number}`) : part;
  });
}

// ES2026, in Node 24, not in the type library yet.
const { rawJSON: rawJson } = JSON as unknown as { rawJSON(text: string): object };
