/** A line of input, without its line feed. Lines are counted from 1. */
export type Line =
  | { readonly number: number; readonly text: string }
  | {
      readonly number: number;
      /** Why there is no text: the bytes are not UTF-8, or too many to hold. */
      readonly fault: "not_utf8" | "too_long";
      /** The bytes as they came. A line that is too long comes in several pieces, one entry each. */
      readonly bytes: Uint8Array;
      readonly first: boolean;
      readonly last: boolean;
    };

/** A line of more bytes than this is not held in memory and so never becomes text: 1 MiB. */
export const MAX_LINE_BYTES = 1024 * 1024;

const LINE_FEED = 10;
const NOTHING = new Uint8Array();

/**
 * Cuts a stream of bytes into lines, as many at a time as a chunk completes, in bounded memory. A byte order mark
 * is no part of a line; a carriage return is. The last line needs no line feed.
 */
export async function* splitLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<readonly Line[]> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let number = 1;
  /** What has come of the line that has not ended. */
  let begun: Uint8Array = NOTHING;
  /** True where pieces of that line have gone out already. */
  let spilling = false;

  function lineOf(bytes: Uint8Array, last: boolean): Line {
    const first = !spilling;
    if (spilling || bytes.length > MAX_LINE_BYTES) return { number, fault: "too_long", bytes, first, last };
    try {
      return { number, text: decoder.decode(bytes) };
    } catch {
      return { number, fault: "not_utf8", bytes, first, last };
    }
  }

  for await (const chunk of chunks) {
    const lines: Line[] = [];
    let from = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, from)) {
      lines.push(lineOf(joined(begun, chunk.subarray(from, end)), true));
      begun = NOTHING;
      spilling = false;
      number += 1;
      from = end + 1;
    }
    begun = joined(begun, chunk.subarray(from));
    if (begun.length > MAX_LINE_BYTES || (spilling && begun.length > 0)) {
      lines.push(lineOf(begun, false));
      begun = NOTHING;
      spilling = true;
    }
    if (lines.length > 0) yield lines;
  }
  if (spilling || begun.length > 0) yield [lineOf(begun, true)];
}

function joined(head: Uint8Array, tail: Uint8Array): Uint8Array {
  if (head.length === 0) return tail;
  const whole = new Uint8Array(head.length + tail.length);
  whole.set(head);
  whole.set(tail, head.length);
  return whole;
}
