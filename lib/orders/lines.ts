/** A line of input without its line feed. Numbers start at 1. */
export type Line =
  | { readonly number: number; readonly text: string }
  | {
      readonly number: number;
      /** The bytes are not UTF-8, or there are more than `MAX_LINE_BYTES`. */
      readonly error: "not_utf8" | "too_long";
      /** The unchanged bytes. A line that is too long is returned in several pieces, one entry each. */
      readonly bytes: Uint8Array;
      readonly first: boolean;
      readonly last: boolean;
    };

/** The longest line that is decoded, in bytes: 1 MiB. */
export const MAX_LINE_BYTES = 1024 * 1024;

const LINE_FEED = 10;
const BYTE_ORDER_MARK = "\ufeff";
const EMPTY = new Uint8Array();

/**
 * Splits a stream of bytes into lines in bounded memory; yields the lines that each chunk completes. A byte order mark
 * is removed, a carriage return is kept. The last line needs no line feed.
 */
export async function* splitLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<readonly Line[]> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let number = 1;
  /** The bytes of the current line so far, without the pieces that have been returned. */
  let partial: Uint8Array = EMPTY;
  /** True if pieces of the current line have been returned. */
  let oversized = false;

  function toLine(bytes: Uint8Array, last: boolean): Line {
    const first = !oversized;
    if (oversized || bytes.length > MAX_LINE_BYTES) return { number, error: "too_long", bytes, first, last };
    try {
      return { number, text: decoder.decode(bytes) };
    } catch {
      return { number, error: "not_utf8", bytes, first, last };
    }
  }

  /** Adds the line that ends at `end`, and returns where the next one starts. */
  function addLine(lines: Line[], chunk: Uint8Array, start: number, end: number): number {
    lines.push(toLine(concat(partial, chunk.subarray(start, end)), true));
    partial = EMPTY;
    oversized = false;
    number += 1;
    return end + 1;
  }

  for await (const chunk of chunks) {
    const lines: Line[] = [];
    const first = chunk.indexOf(LINE_FEED);
    const last = first === -1 ? -1 : chunk.lastIndexOf(LINE_FEED);
    let start = first === -1 ? 0 : addLine(lines, chunk, 0, first);
    if (start <= last) {
      // One by one only if they are not all valid: to decode them together takes a fraction of the time.
      const texts = decodeLines(chunk.subarray(start, last));
      for (const text of texts) lines.push({ number: number++, text });
      if (texts.length > 0) start = last + 1;
      while (start <= last) start = addLine(lines, chunk, start, chunk.indexOf(LINE_FEED, start));
    }
    partial = concat(partial, chunk.subarray(start));
    if (partial.length > MAX_LINE_BYTES || (oversized && partial.length > 0)) {
      lines.push(toLine(partial, false));
      partial = EMPTY;
      oversized = true;
    }
    if (lines.length > 0) yield lines;
  }
  if (oversized || partial.length > 0) yield [toLine(partial, true)];
}

const wholeLines = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Decodes lines, without the last line feed. Returns none if one is not UTF-8 or can be too long. */
function decodeLines(bytes: Uint8Array): readonly string[] {
  if (bytes.length > MAX_LINE_BYTES) return [];
  try {
    const text = wholeLines.decode(bytes);
    const lines = text.split("\n");
    return text.includes(BYTE_ORDER_MARK) ? lines.map((line) => line.replace(/^\ufeff/, "")) : lines;
  } catch {
    return [];
  }
}

function concat(head: Uint8Array, tail: Uint8Array): Uint8Array {
  if (head.length === 0) return tail;
  const whole = new Uint8Array(head.length + tail.length);
  whole.set(head);
  whole.set(tail, head.length);
  return whole;
}
