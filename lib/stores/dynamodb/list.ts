import type { OrderPage } from "../../orders/order-store.ts";
import { idOfWire } from "../../orders/wire.ts";
import { CALL_TIMEOUT_MS } from "./client.ts";
import type { Item } from "./item.ts";
import { mergeAscending, type SourcePage } from "./merge-ascending.ts";
import type { Table } from "./table.ts";

/** Rows that one query reads, and that one page of the list holds: some 64 KB, so that memory stays small. */
const PAGE = 500;

/** The records in wire form as the port's pages: rows are copied out, never parsed. */
export async function* listOrders(table: Table, buckets: number): AsyncGenerator<OrderPage> {
  const held: string[] = [];
  for await (const wires of readAscending(table, buckets, undefined, "#wire", packWires)) {
    held.push(...wires);
    while (held.length > PAGE) yield { json: held.splice(0, PAGE).join(","), last: false };
  }
  yield { json: held.join(","), last: true };
}

/** The orders' items in pages, from the first identifier above `after`. */
export async function* scanOrders(
  table: Table,
  buckets: number,
  after: bigint | undefined,
): AsyncGenerator<readonly Item[]> {
  const keep = (items: readonly Item[]) => (index: number) => items[index] ?? {};
  for await (const items of readAscending(table, buckets, after, "#wire, #status", keep)) {
    for (let from = 0; from < items.length; from += PAGE) yield items.slice(from, from + PAGE);
  }
}

/** Reads every bucket ascending and at the same time; ends what it began when its reader leaves. */
async function* readAscending<Row>(
  table: Table,
  buckets: number,
  after: bigint | undefined,
  projection: string,
  keep: (items: readonly Item[]) => (index: number) => Row,
): AsyncGenerator<readonly Row[]> {
  const ending = new AbortController();
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
        limit: PAGE,
        from,
      };
      // One signal for all of a list: a page that takes too long ends it, just as a reader that leaves.
      const late = setTimeout(() => ending.abort(), CALL_TIMEOUT_MS);
      try {
        const { kept, next } = await table.query(range, keepRows, ending.signal);
        return { ...kept, next };
      } finally {
        clearTimeout(late);
      }
    };
  try {
    yield* mergeAscending(Array.from({ length: buckets }, (_, bucket) => readBucket(bucket)));
  } finally {
    ending.abort();
  }
}

/** Keeps a page's wire forms outside the heap, where waiting costs no collection. They are plain ASCII. */
function packWires(items: readonly Item[]): (index: number) => string {
  const packed = Buffer.from(items.map(({ wire }) => wire?.S ?? "").join(""), "latin1");
  let end = 0;
  const ends = Uint32Array.from(items, ({ wire }) => {
    end += wire?.S?.length ?? 0;
    return end;
  });
  return (index) => packed.toString("latin1", ends[index - 1] ?? 0, ends[index]);
}
