import { explainIssues } from "../core/errors.ts";
import { escapeLine } from "../core/text.ts";
import type { OrderStatus, StoredOrder } from "./lifecycle.ts";
import type { OrderStore } from "./order-store.ts";
import { parseLine, parseOrder } from "./wire.ts";

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

/** Splits a stream of bytes into lines in bounded memory. A byte order mark is removed, a carriage return is kept. */
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
      const decoded = decodeLines(chunk.subarray(start, last));
      for (const text of decoded) lines.push({ number: number++, text });
      if (decoded.length > 0) start = last + 1;
      while (start <= last) start = addLine(lines, chunk, start, chunk.indexOf(LINE_FEED, start));
    }
    partial = concat(partial, chunk.subarray(start));
    if (partial.length > MAX_LINE_BYTES || oversized) {
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

interface ImportCounts {
  readonly placed: number;
  /** Orders that already existed with the same content. */
  readonly unchanged: number;
  readonly rejected: number;
}

/** A line that was not imported, or a piece of one that is too long for memory. */
export interface RejectedLine {
  readonly number: number;
  /** Missing on every piece of a line except the first. */
  readonly reason?: string;
  /** The unchanged line, without its line feed. */
  readonly content: string | Uint8Array;
  /** False if more pieces of the line follow. */
  readonly complete: boolean;
}

/** One step of an import: the totals so far, and the lines that this step rejected, in order. */
export interface ImportStep extends ImportCounts {
  readonly line: number;
  readonly rejects: readonly RejectedLine[];
}

/** Lines per call of the store, which is one transaction if the store supports transactions. */
const MAX_BATCH_LINES = 1_000;
/** Limits the memory of a batch of long lines. */
const MAX_BATCH_CHARS = 2 * MAX_LINE_BYTES;

/**
 * Imports orders from lines of JSON in bounded memory; the orders of a step are stored when it is yielded. A line that
 * is not a valid order, or whose order exists with different content, is rejected. An import can be repeated.
 * A line without a status gets `assumed`; see `parseOrder`.
 */
export async function* importOrders(
  lines: AsyncIterable<readonly Line[]>,
  store: Pick<OrderStore, "place">,
  assumed?: OrderStatus,
): AsyncGenerator<ImportStep> {
  let counts: ImportCounts = { placed: 0, unchanged: 0, rejected: 0 };
  let batch: Entry[] = [];
  let chars = 0;
  let line = 0;

  async function flush(): Promise<ImportStep> {
    const entries = batch;
    batch = [];
    chars = 0;
    const orders = entries.flatMap((entry) => ("order" in entry ? [entry.order] : []));
    const outcomes = (orders.length > 0 ? await store.place(orders) : []).values();
    const newCounts = { ...counts };
    const rejects: RejectedLine[] = [];
    for (const entry of entries) {
      if (!("order" in entry)) {
        if (entry.reason !== undefined) newCounts.rejected += 1;
        rejects.push(entry);
        continue;
      }
      const outcome = outcomes.next().value;
      if (outcome === "placed" || outcome === "unchanged") newCounts[outcome] += 1;
      else if (outcome === "conflict") {
        const { number, content, order } = entry;
        const reason = `Order ${order.record.id} already exists with different content; it was not changed.`;
        newCounts.rejected += 1;
        rejects.push({ number, content, complete: true, reason });
      } else throw new TypeError("The store returned no outcome of a placed order.");
    }
    counts = newCounts;
    return { ...counts, line, rejects };
  }

  for await (const group of lines) {
    for (const next of group) {
      const entry = parseEntry(next, assumed);
      line = next.number;
      if (entry === undefined) continue;
      batch.push(entry);
      chars += entry.content.length;
      if (batch.length >= MAX_BATCH_LINES || chars >= MAX_BATCH_CHARS) yield await flush();
    }
  }
  yield await flush();
}

type Entry =
  | RejectedLine
  | { readonly number: number; readonly content: string; readonly order: StoredOrder };

function parseEntry(line: Line, assumed: OrderStatus | undefined): Entry | undefined {
  if ("error" in line) {
    const { number, bytes, first, last, error } = line;
    return { number, content: bytes, complete: last, ...(first ? { reason: LINE_ERRORS[error] } : {}) };
  }
  const { number, text } = line;
  if (BLANK.test(text)) return undefined;
  const parsed = parseLine(text, (value) => parseOrder(value, assumed));
  if (parsed.ok) return { number, content: text, order: parsed.order };
  return { number, content: text, complete: true, reason: toPrintable(explainIssues(parsed.issues)) };
}

const LINE_ERRORS = {
  not_utf8: "The line is not UTF-8.",
  too_long: `The line is longer than ${MAX_LINE_BYTES} bytes.`,
} as const;

const BLANK = /^\s*$/;
const MAX_REASON_CHARS = 500;

/** Escapes characters that control a terminal, and limits the length: a reason contains field names from the input. */
function toPrintable(reason: string): string {
  const text = escapeLine(reason);
  return text.length > MAX_REASON_CHARS ? `${text.slice(0, MAX_REASON_CHARS)}…` : text;
}
