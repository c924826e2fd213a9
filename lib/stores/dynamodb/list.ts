import { CALL_TIMEOUT_MS, nextTurn } from "../../core/time.ts";
import { sumByStatus } from "../../orders/lifecycle.ts";
import type { OrderQuery, OrderQueryPage } from "../../orders/order-query.ts";
import type { OrderCounts, OrderPage } from "../../orders/order-store.ts";
import { idOfWire } from "../../orders/wire.ts";
import { readOrders } from "../order-rows.ts";
import { callTimeout } from "./client.ts";
import { BUCKETS } from "./schema.ts";
import { type Item, pagesOf, type ReadRange, stringOf, type TableClient } from "./table.ts";

/** Rows of one query and of one page of the list: 40 to 70 KB, to bound memory. */
const PAGE_SIZE = 500;

/** For all lists of this process: without a limit, concurrent ones would time out while they wait for connections. */
const limitPages = limitConcurrency(32);

/**
 * Records are copied in wire form, never parsed. A table that fits one page is read with one request, a scan. Longer ones
 * are read by queries of all buckets: only a query returns the orders of a bucket ascending.
 */
export function createList(table: TableClient): () => AsyncGenerator<OrderPage> {
  // One more for the item that is not an order, and one more because a page that is full may not be the last one.
  const onePage = { projection: "#wire", limit: PAGE_SIZE + 2 };
  // Known after the first list. Orders are never deleted.
  let isLong = false;
  return async function* list() {
    if (!isLong) {
      // With the time of the wait: if DynamoDB hangs, all that wait reject when the first ones do.
      const signal = callTimeout();
      const page = await limitPages(() => table.read(onePage, sortedWires, signal));
      isLong = page.next !== undefined;
      if (!isLong) return yield { json: page.kept.join(","), last: true };
    }
    yield* listLong(table);
  };
}

function sortedWires(items: readonly Item[]): readonly string[] {
  return items
    .flatMap(({ wire }) => (wire?.S === undefined ? [] : [{ wire: wire.S, id: idOfWire(wire.S) }]))
    .sort((a, b) => (a.id < b.id ? -1 : 1))
    .map(({ wire }) => wire);
}

/** Reads all buckets in parallel, ascending. Pending queries are aborted when the consumer stops. */
async function* listLong(table: TableClient): AsyncGenerator<OrderPage> {
  const aborter = new AbortController();
  const readBucket =
    (bucket: number): ReadPage<Item> =>
    (from) =>
      limitPages(async () => {
        // One signal per list: a page that times out ends the whole list.
        const timeout = setTimeout(() => aborter.abort(), CALL_TIMEOUT_MS);
        try {
          const range = {
            ...{ condition: "#bucket = :bucket", values: { ":bucket": { N: String(bucket) } } },
            ...{ projection: "#wire", limit: PAGE_SIZE, from },
          };
          const { kept, next } = await table.read(range, packWires, aborter.signal);
          return { ...kept, next };
        } finally {
          clearTimeout(timeout);
        }
      });
  const pending: string[] = [];
  try {
    const sources = Array.from({ length: BUCKETS }, (_, bucket) => readBucket(bucket));
    for await (const wires of mergeAscending(sources)) {
      pending.push(...wires);
      while (pending.length > PAGE_SIZE) yield { json: pending.splice(0, PAGE_SIZE).join(","), last: false };
      await nextTurn();
    }
    yield { json: pending.join(","), last: true };
  } finally {
    aborter.abort();
  }
}

/** Keeps the wire forms of a page in a buffer, where they do not slow garbage collection. They are ASCII. */
function packWires(items: readonly Item[]): Omit<SourcePage<Item>, "next"> {
  const packed = Buffer.from(items.map(({ wire }) => stringOf(wire)).join(""), "latin1");
  let end = 0;
  const ends = Uint32Array.from(items, ({ wire }) => {
    end += wire?.S?.length ?? 0;
    return end;
  });
  return {
    ranks: BigInt64Array.from(items, ({ wire }) => idOfWire(stringOf(wire))),
    row: (index) => packed.toString("latin1", ends[index - 1] ?? 0, ends[index]),
  };
}

/** Rows ascend by rank. The last page has no `next`. */
interface SourcePage<From> {
  readonly ranks: BigInt64Array;
  row(index: number): string;
  readonly next: From | undefined;
}

export type ReadPage<From> = (from: From | undefined) => Promise<SourcePage<From>>;

/** Sources are read in parallel, each at most one page ahead, so reading stops while the consumer waits. */
export async function* mergeAscending<From>(
  reads: readonly ReadPage<From>[],
): AsyncGenerator<readonly string[]> {
  const sources = reads.map(openSource);
  for (;;) {
    await Promise.all(sources.map((source) => source.fill()));
    // Further rows of a source are above its bound. So up to the least bound, all rows have been read.
    const bound = least(sources.flatMap((source) => source.bound() ?? []));
    const ready = sources.flatMap((source) => source.take(bound));
    yield ready.sort((a, b) => (a.rank < b.rank ? -1 : 1)).map(({ row }) => row);
    if (bound === undefined) return;
  }
}

/** The number of rows per source that one step considers. It limits the rows in memory that are not packed in pages. */
const LOOKAHEAD = 32;

function openSource<From>(read: ReadPage<From>) {
  let page: SourcePage<From> | undefined;
  let position = 0;
  let ahead: ReturnType<typeof read> | undefined = ignoreUnused(read(undefined));
  return {
    async fill() {
      while (position === (page?.ranks.length ?? 0) && ahead !== undefined) {
        page = await ahead;
        position = 0;
        ahead = page.next === undefined ? undefined : ignoreUnused(read(page.next));
      }
    },
    /** The rank up to which all rows of this source have been considered; `undefined` at its end. */
    bound() {
      const visible = page?.ranks.subarray(position, position + LOOKAHEAD);
      const more = ahead !== undefined || (page !== undefined && position + LOOKAHEAD < page.ranks.length);
      return more ? visible?.at(-1) : undefined;
    },
    take(bound: bigint | undefined) {
      const rows: { readonly rank: bigint; readonly row: string }[] = [];
      for (; page !== undefined && position < page.ranks.length; position++) {
        const rank = page.ranks[position] ?? 0n;
        if (bound !== undefined && rank > bound) break;
        rows.push({ rank, row: page.row(position) });
      }
      return rows;
    },
  };
}

// A page that was read ahead but is no longer needed may fail without an unhandled rejection.
function ignoreUnused<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

function least(ranks: readonly bigint[]): bigint | undefined {
  return ranks.toSorted((a, b) => (a < b ? -1 : 1))[0];
}

/** Of each bucket for one page. Each reads twice as many orders as the one before. */
const MAX_READS = 4;

/** About as many orders as one read unit pays for: 4 KB. */
const ORDERS_PER_UNIT = 60;

/**
 * Orders are sorted only within a bucket, so a share of the page is read from each, and the page ends where the first
 * bucket ran out. What was read beyond that is read again. If less than half a page was found, more is read.
 */
export async function readSortedPage(
  table: TableClient,
  { after, status, order, limit }: OrderQuery,
  signal: AbortSignal,
): Promise<OrderQueryPage> {
  const isDescending = order === "desc";
  /** Ascending in the direction of the query. */
  const rankOf = (id: bigint) => (isDescending ? -id : id);
  const range: ReadRange = {
    condition: `#bucket = :bucket${after === undefined ? "" : ` AND #id ${isDescending ? "<" : ">"} :after`}`,
    ...(status === undefined ? {} : { filter: "#status = :status" }),
    projection: "#id, #wire, #status",
    isDescending,
  };
  const values = {
    ...(after === undefined ? {} : { ":after": { N: String(after) } }),
    ...(status === undefined ? {} : { ":status": { S: status } }),
  };
  const parts = Array.from({ length: BUCKETS }, () => {
    return { found: [] as Item[], next: undefined as Item | undefined, hasMore: true };
  });
  let readUnits = 0;
  const readMore = async (part: (typeof parts)[number], bucket: number, size: number) => {
    if (!part.hasMore) return;
    const bucketValues = { ...values, ":bucket": { N: String(bucket) } };
    const more = { ...range, values: bucketValues, limit: size, from: part.next };
    const page = await limitPages(() => table.read(more, (items) => items, signal));
    readUnits += page.readUnits;
    part.found.push(...page.kept);
    part.next = page.next;
    part.hasMore = page.next !== undefined;
  };

  // The number of orders in a bucket varies by the square root of its mean, as in a Poisson distribution.
  const share = limit / BUCKETS;
  const firstSize = Math.ceil(Math.max(share, Math.min(share + 4 * Math.sqrt(share), ORDERS_PER_UNIT)));
  for (let reads = 0; ; ) {
    const size = Math.min(PAGE_SIZE, firstSize * 2 ** reads);
    await Promise.all(parts.map((part, bucket) => readMore(part, bucket, size)));
    reads++;
    // Further orders of a bucket are beyond the last one that was read. So up to the least of these, all have been read.
    const bound = least(parts.flatMap(({ next }) => (next === undefined ? [] : [rankOf(idOf(next))])));
    const found = parts
      .flatMap((part) => part.found.map((item) => ({ item, rank: rankOf(idOf(item)) })))
      .filter(({ rank }) => bound === undefined || rank <= bound)
      .sort((a, b) => (a.rank < b.rank ? -1 : 1));
    if (bound !== undefined && found.length < limit / 2 && reads < MAX_READS) continue;
    const next = found.length > limit ? found[limit - 1]?.rank : bound;
    const rows = found
      .slice(0, limit)
      .map(({ item }) => [idOf(item), stringOf(item["status"]), stringOf(item["wire"])] as const);
    return { ...readOrders(rows), readUnits, ...(next === undefined ? {} : { next: rankOf(next) }) };
  }
}

/** Reads every order, in pages of 1 MB, of all buckets in parallel. */
export async function countOrders(table: TableClient): Promise<OrderCounts> {
  const counts = new Map<string, number>();
  const countBucket = async (_: unknown, bucket: number) => {
    const values = { ":bucket": { N: String(bucket) } };
    const range = { condition: "#bucket = :bucket", projection: "#status", values };
    for await (const items of pagesOf(table, range, limitPages))
      for (const { status } of items) counts.set(stringOf(status), (counts.get(stringOf(status)) ?? 0) + 1);
  };
  await Promise.all(Array.from({ length: BUCKETS }, countBucket));
  return sumByStatus(counts);
}

export function idOf({ id }: Item): bigint {
  return BigInt(`${id?.N}`);
}

/** Tasks beyond `max` wait in the order of their arrival. */
function limitConcurrency(max: number): <T>(task: () => Promise<T>) => Promise<T> {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (task) => {
    // A task that ends passes its place on to the first one that waits.
    if (running === max) await new Promise<void>((resolve) => waiting.push(resolve));
    else running++;
    try {
      return await task();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running--;
      else next();
    }
  };
}
