import { explainIssues } from "../errors.ts";
import type { StoredOrder } from "./lifecycle.ts";
import { type Line, MAX_LINE_BYTES } from "./lines.ts";
import type { OrderStore } from "./order-store.ts";
import { parseLine } from "./parse-order.ts";

/** The totals of an import so far. */
export interface ImportCounts {
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
  /** The last line that was processed. */
  readonly line: number;
  readonly rejects: readonly RejectedLine[];
}

/** Lines per call of the store, which is one transaction if the store supports transactions. */
const MAX_BATCH_LINES = 1_000;
/** Limits the memory of a batch of long lines. */
const MAX_BATCH_CHARS = 2 * MAX_LINE_BYTES;

/**
 * Imports orders from lines of JSON in bounded memory. A line that is not a valid order, or whose order exists with
 * different content, is rejected and does not stop the others. Blank lines are skipped. The orders of a step are stored
 * when the step is yielded. If the store fails, the same import can be repeated.
 */
export async function* importOrders(
  lines: AsyncIterable<readonly Line[]>,
  store: Pick<OrderStore, "place">,
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
      if ("order" in entry) {
        const outcome = outcomes.next().value ?? "conflict";
        if (outcome !== "conflict") {
          newCounts[outcome] += 1;
          continue;
        }
      }
      const reject = "order" in entry ? rejectConflict(entry) : entry;
      if (reject.reason !== undefined) newCounts.rejected += 1;
      rejects.push(reject);
    }
    counts = newCounts;
    return { ...counts, line, rejects };
  }

  for await (const group of lines) {
    for (const next of group) {
      const entry = parseEntry(next);
      line = next.number;
      if (entry === undefined) continue;
      batch.push(entry);
      chars += entry.content.length;
      if (batch.length >= MAX_BATCH_LINES || chars >= MAX_BATCH_CHARS) yield await flush();
    }
  }
  yield await flush();
}

type Entry = RejectedLine | ValidLine;

interface ValidLine {
  readonly number: number;
  readonly content: string;
  readonly order: StoredOrder;
}

function parseEntry(line: Line): Entry | undefined {
  if ("error" in line) {
    const { number, bytes, first, last, error } = line;
    return { number, content: bytes, complete: last, ...(first ? { reason: LINE_ERRORS[error] } : {}) };
  }
  const { number, text } = line;
  if (BLANK.test(text)) return undefined;
  const parsed = parseLine(text);
  if (parsed.ok) return { number, content: text, order: parsed.order };
  return { number, content: text, complete: true, reason: toPrintable(explainIssues(parsed.issues)) };
}

function rejectConflict({ number, content, order }: ValidLine): RejectedLine {
  const reason = `Order ${order.record.id} already exists with different content; it was not changed.`;
  return { number, content, complete: true, reason };
}

const LINE_ERRORS = {
  not_utf8: "The line is not UTF-8.",
  too_long: `The line is longer than ${MAX_LINE_BYTES} bytes.`,
} as const;

const BLANK = /^\s*$/;
const MAX_REASON_CHARS = 500;

/**
 * Escapes control characters, also those that change the direction of text or break lines, and limits the length: a
 * reason contains field names from the input.
 */
function toPrintable(reason: string): string {
  const text = reason.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, escapeCharacter);
  return text.length > MAX_REASON_CHARS ? `${text.slice(0, MAX_REASON_CHARS)}…` : text;
}

function escapeCharacter(character: string): string {
  const escaped = JSON.stringify(character).slice(1, -1);
  return escaped === character ? `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}` : escaped;
}
