import { nextTurn } from "../../event-loop-turns.ts";
import type { OrderPage } from "../../orders/order-store.ts";
import { idOfWire } from "../../orders/wire.ts";
import { CALL_TIMEOUT_MS } from "./client.ts";
import type { Item } from "./item.ts";
import { limitConcurrency } from "./limit-concurrency.ts";
import { mergeAscending, type SourcePage } from "./merge-ascending.ts";
import { createShortList } from "./short-list.ts";
import type { Table } from "./table.ts";

/** Rows of one query and of one page of the list: 40 to 70 KB, to bound memory. */
const PAGE_SIZE = 500;

/**
 * The number of pages that all lists of this process read at once. Each list reads every bucket in parallel, so that
 * without a limit concurrent lists would time out while they wait for connections.
 */
const limitPages = limitConcurrency(32);

/**
 * Returns a function that lists the records in wire form. They are copied, never parsed. A table that fits one page is
 * read with one request, a scan. Longer ones are read by queries of all buckets, as `OrderStore.scan` always does:
 * only a query returns the orders of a bucket ascending.
 */
export function createList(table: Table, buckets: () => Promise<number>): () => AsyncGenerator<OrderPage> {
  const readShortList = createShortList(table, PAGE_SIZE);
  return async function* list() {
    const wires = await limitPages(readShortList);
    if (wires === undefined) yield* listLong(table, await buckets());
    else yield { json: wires.join(","), last: true };
  };
}

async function* listLong(table: Table, buckets: number): AsyncGenerator<OrderPage> {
  const pending: string[] = [];
  const every = { after: undefined, pageSize: PAGE_SIZE };
  for await (const wires of readAscending(table, buckets, every, "#wire", packWires)) {
    pending.push(...wires);
    while (pending.length > PAGE_SIZE) yield { json: pending.splice(0, PAGE_SIZE).join(","), last: false };
  }
  yield { json: pending.join(","), last: true };
}

/** Lists the items of the orders, from the first identifier above `after`, in small pages if `limit` is small. */
export async function* scanOrders(
  table: Table,
  buckets: number,
  after: bigint | undefined,
  limit = Number.POSITIVE_INFINITY,
): AsyncGenerator<readonly Item[]> {
  const keep = (items: readonly Item[]) => (index: number) => items[index] ?? {};
  // Buckets have about the same number of orders of a range. With twice their share, few are read again.
  const range = { after, pageSize: Math.min(PAGE_SIZE, Math.ceil((2 * limit) / buckets)) };
  for await (const items of readAscending(table, buckets, range, "#wire, #status", keep)) {
    for (let from = 0; from < items.length; from += PAGE_SIZE) yield items.slice(from, from + PAGE_SIZE);
  }
}

/** Reads all buckets in parallel, ascending. Pending queries are aborted when the consumer stops. */
async function* readAscending<Row>(
  table: Table,
  buckets: number,
  { after, pageSize }: { readonly after: bigint | undefined; readonly pageSize: number },
  projection: string,
  keep: (items: readonly Item[]) => (index: number) => Row,
): AsyncGenerator<readonly Row[]> {
  const aborter = new AbortController();
  const keepRows = (items: readonly Item[]) => ({
    ranks: BigInt64Array.from(items, ({ wire }) => idOfWire(wire?.S ?? "")),
    row: keep(items),
  });
  const readBucket =
    (bucket: number) =>
    async (from: Item | undefined): Promise<SourcePage<Row, Item>> => {
      const range = {
        condition: after === undefined ? "#bucket = :bucket" : "#bucket = :bucket AND #id > :after",
        projection,
        values: {
          ":bucket": { N: String(bucket) },
          ...(after === undefined ? {} : { ":after": { N: String(after) } }),
        },
        limit: pageSize,
        from,
      };
      return limitPages(async () => {
        // One signal per list: a page that times out ends the whole list.
        const timeout = setTimeout(() => aborter.abort(), CALL_TIMEOUT_MS);
        try {
          const { kept, next } = await table.query(range, keepRows, aborter.signal);
          return { ...kept, next };
        } finally {
          clearTimeout(timeout);
        }
      });
    };
  try {
    const sources = Array.from({ length: buckets }, (_, bucket) => readBucket(bucket));
    for await (const rows of mergeAscending(sources)) {
      yield rows;
      await nextTurn();
    }
  } finally {
    aborter.abort();
  }
}

/** Keeps the wire forms of a page in a buffer, where they do not slow garbage collection. They are ASCII. */
function packWires(items: readonly Item[]): (index: number) => string {
  const packed = Buffer.from(items.map(({ wire }) => wire?.S ?? "").join(""), "latin1");
  let end = 0;
  const ends = Uint32Array.from(items, ({ wire }) => {
    end += wire?.S?.length ?? 0;
    return end;
  });
  return (index) => packed.toString("latin1", ends[index - 1] ?? 0, ends[index]);
}
