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

  for await (const chunk of chunks) {
    const lines: Line[] = [];
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      lines.push(toLine(concat(partial, chunk.subarray(start, end)), true));
      partial = EMPTY;
      oversized = false;
      number += 1;
      start = end + 1;
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

function concat(head: Uint8Array, tail: Uint8Array): Uint8Array {
  if (head.length === 0) return tail;
  const whole = new Uint8Array(head.length + tail.length);
  whole.set(head);
  whole.set(tail, head.length);
  return whole;
}
