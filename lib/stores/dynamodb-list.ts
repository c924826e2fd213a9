import type { OrderPage } from "../orders/order-store.ts";
import { deadline } from "./dynamodb-client.ts";
import type { Item, Table } from "./dynamodb-table.ts";
import { mergeAscending } from "./merge-ascending.ts";

/** Rows that one query reads, and that one page of the list holds: some 64 KB, so that memory stays small. */
const PAGE = 500;

/** The records in wire form as the port's pages: rows are copied out, never parsed. */
export async function* listOrders(table: Table, buckets: number): AsyncGenerator<OrderPage> {
  const held: string[] = [];
  for await (const items of readAscending(table, buckets, "#id, #wire")) {
    for (const { wire } of items) held.push(wire?.S ?? "");
    while (held.length > PAGE) yield { rows: held.splice(0, PAGE).join(","), last: false };
  }
  yield { rows: held.join(","), last: true };
}

/** The orders' items in pages, from the first identifier above `after`. */
export async function* scanOrders(
  table: Table,
  buckets: number,
  after: bigint | undefined,
): AsyncGenerator<readonly Item[]> {
  for await (const items of readAscending(table, buckets, "#id, #wire, #status", after)) {
    for (let from = 0; from < items.length; from += PAGE) yield items.slice(from, from + PAGE);
  }
}

/** Reads every bucket ascending and at the same time; ends what it began when its reader leaves. */
async function* readAscending(
  table: Table,
  buckets: number,
  projection: string,
  after?: bigint,
): AsyncGenerator<readonly Item[]> {
  const leaving = new AbortController();
  const above = after === undefined ? "" : " AND #id > :after";
  const names = ["#bucket", ...projection.split(", ")].map((name) => [name, name.slice(1)]);
  const readBucket = (bucket: number) => async (from: Item | undefined) => {
    const { items, next } = await table.query(
      {
        KeyConditionExpression: `#bucket = :bucket${above}`,
        ProjectionExpression: projection,
        ExpressionAttributeNames: Object.fromEntries(names),
        ExpressionAttributeValues: {
          ":bucket": { N: String(bucket) },
          ...(after === undefined ? {} : { ":after": { N: String(after) } }),
        },
        Limit: PAGE,
        ExclusiveStartKey: from,
      },
      AbortSignal.any([leaving.signal, deadline()]),
    );
    return { rows: items, next };
  };
  try {
    const sources = Array.from({ length: buckets }, (_, bucket) => readBucket(bucket));
    yield* mergeAscending(sources, ({ id }) => BigInt(id?.N ?? 0));
  } finally {
    leaving.abort();
  }
}
