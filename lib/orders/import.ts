import { explainIssues } from "../core/errors.ts";
import { escapeLine } from "../core/text.ts";
import type { OrderStatus, StoredOrder } from "./lifecycle.ts";
import type { OrderStore } from "./order-store.ts";
import { parseLine, parseOrder } from "./wire.ts";

/** A line of input without its line feed. Numbers start at 1. */
export interface Line {
  readonly number: number;
  /** Bytes that are not UTF-8 are U+FFFD. Of a line that is too long, only the beginning may be there. */
  readonly text: string;
}

/** The longest line that can be an order, in UTF-16 code units: 1 MiB of ASCII. */
export const MAX_LINE_CHARS = 1024 * 1024;

/** Splits a stream of bytes into lines in bounded memory. A byte order mark is removed, a carriage return is kept. */
export async function* splitLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<readonly Line[]> {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let number = 1;
  let rest = "";
  const numberLine = (text: string): Line => ({ number: number++, text: text.replace(/^\ufeff/, "") });

  for await (const chunk of chunks) {
    const lines = decoder.decode(chunk, { stream: true }).split("\n");
    if (rest.length <= MAX_LINE_CHARS) rest += lines[0];
    lines[0] = rest;
    rest = lines.pop() ?? "";
    yield lines.map(numberLine);
  }
  rest += decoder.decode();
  if (rest !== "") yield [numberLine(rest)];
}

export interface RejectedLine {
  readonly number: number;
  readonly reason: string;
  /** The line, without its line feed; of one that is too long, its beginning. */
  readonly content: string;
}

/** One step of an import: the totals so far, and the lines that this step rejected, in order. */
export interface ImportStep {
  readonly line: number;
  readonly placed: number;
  readonly unchanged: number;
  readonly rejected: number;
  readonly rejects: readonly RejectedLine[];
}

/** Lines per call of the store, which is one transaction if the store supports transactions. */
const MAX_BATCH_LINES = 1_000;
const MAX_BATCH_CHARS = 2 * MAX_LINE_CHARS;

/**
 * Rejects lines that are no valid order, or whose order exists with other content. The orders of a step are stored when
 * it is yielded. An import can be repeated. A line without a status gets `assumed`; see `parseOrder`.
 */
export async function* importOrders(
  lines: AsyncIterable<readonly Line[]>,
  store: Pick<OrderStore, "place">,
  assumed?: OrderStatus,
): AsyncGenerator<ImportStep> {
  const counts = { placed: 0, unchanged: 0, rejected: 0 };
  let batch: Entry[] = [];
  let chars = 0;
  let line = 0;

  async function flush(): Promise<ImportStep> {
    const orders = batch.flatMap((entry) => ("order" in entry ? [entry.order] : []));
    const outcomes = (orders.length > 0 ? await store.place(orders) : []).values();
    const rejects: RejectedLine[] = [];
    for (const entry of batch) {
      const outcome = "order" in entry ? outcomes.next().value : undefined;
      if (!("order" in entry)) rejects.push(entry);
      else if (outcome === "placed" || outcome === "unchanged") counts[outcome] += 1;
      else {
        const { number, content, order } = entry;
        const reason = `Order ${order.record.id} already exists with different content; it was not changed.`;
        rejects.push({ number, content, reason });
      }
    }
    counts.rejected += rejects.length;
    batch = [];
    chars = 0;
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

function parseEntry({ number, text }: Line, assumed: OrderStatus | undefined): Entry | undefined {
  const reject = (reason: string) => ({ number, content: text.slice(0, MAX_LINE_CHARS), reason });
  // Also if its beginning is blank: an order can follow.
  if (text.length > MAX_LINE_CHARS) return reject(`The line is longer than ${MAX_LINE_CHARS} characters.`);
  if (BLANK.test(text)) return undefined;
  // No order has this character: every field is a number, a date or a word.
  if (text.includes("\ufffd")) return reject("The line is not UTF-8.");
  const parsed = parseLine(text, (value) => parseOrder(value, assumed));
  if (!parsed.ok) return reject(toPrintable(explainIssues(parsed.issues)));
  return { number, content: text, order: parsed.order };
}

const BLANK = /^\s*$/;
const MAX_REASON_CHARS = 500;

/** Escapes characters that control a terminal, and limits the length: a reason contains field names from the input. */
function toPrintable(reason: string): string {
  const text = escapeLine(reason);
  return text.length > MAX_REASON_CHARS ? `${text.slice(0, MAX_REASON_CHARS)}…` : text;
}
