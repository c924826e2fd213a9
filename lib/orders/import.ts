import { explainIssues } from "../errors.ts";
import { type Line, MAX_LINE_BYTES } from "./lines.ts";
import { parseLine, type StoredOrder } from "./order.ts";
import type { OrderStore } from "./order-store.ts";

/** What an import has done up to some line. */
export interface ImportCounts {
  readonly placed: number;
  /** Orders that were there already, with this very content. */
  readonly unchanged: number;
  readonly rejected: number;
}

/** A line that was not imported, or a piece of one that is too long to hold. */
export interface RejectedLine {
  readonly number: number;
  /** Absent on every piece of a line but the first. */
  readonly reason?: string;
  /** The line as it came, without its line feed. */
  readonly content: string | Uint8Array;
  /** False where more of the line follows. */
  readonly complete: boolean;
}

/** One step of an import: the counts so far, and what has been rejected since the step before, in order of lines. */
export interface ImportStep extends ImportCounts {
  /** The last line that is done with. */
  readonly line: number;
  readonly rejects: readonly RejectedLine[];
}

/** Lines that are placed together, in one transaction where the store has them. */
const MAX_BATCH_LINES = 1_000;
/** Fewer are placed together where they are long, so that a batch stays small in memory. */
const MAX_BATCH_CHARS = 2 * MAX_LINE_BYTES;

/**
 * Places the orders of newline-delimited JSON, in bounded memory. A line that is no order, or one whose order
 * exists with other content, is rejected and does not stop the others. Blank lines mean nothing. Orders are in the
 * store when their step comes out; after a store that fails, the same import can be run again.
 */
export async function* importOrders(
  lines: AsyncIterable<readonly Line[]>,
  store: Pick<OrderStore, "place">,
): AsyncGenerator<ImportStep> {
  let counts: ImportCounts = { placed: 0, unchanged: 0, rejected: 0 };
  let batch: Entry[] = [];
  let length = 0;
  let line = 0;

  async function flush(): Promise<ImportStep> {
    const entries = batch;
    batch = [];
    length = 0;
    const orders = entries.flatMap((entry) => ("order" in entry ? [entry.order] : []));
    const outcomes = (orders.length > 0 ? await store.place(orders) : []).values();
    const tally = { ...counts };
    const rejects: RejectedLine[] = [];
    for (const entry of entries) {
      if ("order" in entry) {
        const outcome = outcomes.next().value ?? "conflict";
        if (outcome !== "conflict") {
          tally[outcome] += 1;
          continue;
        }
      }
      const reject = "order" in entry ? conflict(entry) : entry;
      if (reject.reason !== undefined) tally.rejected += 1;
      rejects.push(reject);
    }
    counts = tally;
    return { ...counts, line, rejects };
  }

  for await (const group of lines) {
    for (const next of group) {
      const entry = read(next);
      line = next.number;
      if (entry === undefined) continue;
      batch.push(entry);
      length += entry.content.length;
      if (batch.length >= MAX_BATCH_LINES || length >= MAX_BATCH_CHARS) yield await flush();
    }
  }
  yield await flush();
}

type Entry = RejectedLine | Accepted;

interface Accepted {
  readonly number: number;
  readonly content: string;
  readonly order: StoredOrder;
}

function read(line: Line): Entry | undefined {
  if ("fault" in line) {
    const { number, bytes, first, last, fault } = line;
    return { number, content: bytes, complete: last, ...(first ? { reason: FAULTS[fault] } : {}) };
  }
  const { number, text } = line;
  if (BLANK.test(text)) return undefined;
  const parsed = parseLine(text);
  if ("order" in parsed) return { number, content: text, order: parsed.order };
  return { number, content: text, complete: true, reason: printable(explainIssues(parsed.issues)) };
}

function conflict({ number, content, order }: Accepted): RejectedLine {
  const reason = `Order ${order.record.id} exists with other content; it has not been changed.`;
  return { number, content, complete: true, reason };
}

const FAULTS = {
  not_utf8: "This is not UTF-8.",
  too_long: `The line is longer than ${MAX_LINE_BYTES} bytes.`,
} as const;

const BLANK = /^\s*$/;
const MAX_REASON_CHARS = 500;

/** A reason repeats names from the line: those must not steer a terminal, nor fill it. */
function printable(reason: string): string {
  const text = reason.replace(/\p{Cc}/gu, (control) => JSON.stringify(control).slice(1, -1));
  return text.length > MAX_REASON_CHARS ? `${text.slice(0, MAX_REASON_CHARS)}…` : text;
}
