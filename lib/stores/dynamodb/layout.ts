/**
 * Names, keys and attributes of the DynamoDB tables. Plain data without a dependency, so that the infrastructure creates
 * exactly the tables that the store reads.
 *
 * `PREFIX-orders` has one item per order: `bucket` (partition key: a hash of the identifier), `id` (sort key), `status`,
 * `wire` (the record in the form in which it is sent), and `<event>Mark` (the token of the last write for that event).
 *
 * `PREFIX-accounts` has one item per account: `id` (partition key), `plan`, `perMinute` and `perDay` if they are custom,
 * `keys` by hash, and `revision` (the token of the last write of all these). Only admission writes the others: `minute`,
 * `minuteCount`, `day` and `dayCount` (the windows), and `penalties` by key hash: `refused` rejections in the minute that
 * starts at `start`, and the ban that followed, `bannedUntil`. `tokens` identifies
 * the writes that counted them.
 */

/** A table's name and keys. */
export interface TableShape {
  readonly name: string;
  readonly partitionKey: KeyAttribute;
  readonly sortKey?: KeyAttribute;
}

/** A key attribute of a table. */
export interface KeyAttribute {
  readonly name: string;
  readonly type: "N" | "S";
}

/** Both tables of a prefix. */
export function tableShapes(prefix: string): { readonly orders: TableShape; readonly accounts: TableShape } {
  return {
    orders: {
      name: `${prefix}-orders`,
      partitionKey: { name: "bucket", type: "N" },
      sortKey: { name: "id", type: "N" },
    },
    accounts: { name: `${prefix}-accounts`, partitionKey: { name: "id", type: "S" } },
  };
}

/** The input of `CreateTable`. The table is on demand, so nothing has to be sized. */
export function createTableInput({ name, partitionKey, sortKey }: TableShape) {
  const keys = [
    { ...partitionKey, role: "HASH" as const },
    ...(sortKey === undefined ? [] : [{ ...sortKey, role: "RANGE" as const }]),
  ];
  return {
    TableName: name,
    BillingMode: "PAY_PER_REQUEST" as const,
    AttributeDefinitions: keys.map((key) => ({ AttributeName: key.name, AttributeType: key.type })),
    KeySchema: keys.map((key) => ({ AttributeName: key.name, KeyType: key.role })),
  };
}

/** The number of buckets of orders, unless the table stores another number. */
export const DEFAULT_BUCKETS = 16;

/**
 * The key of the only item in the orders table that is not an order. Its `buckets` is the number of buckets. No
 * order has this partition key, so lists never read the item.
 */
export const SETTINGS_KEY = { bucket: { N: "-1" }, id: { N: "0" } } as const;

const GOLDEN = 0x9e37_79b9_7f4a_7c15n;

/**
 * The bucket of an order: multiplicative hashing (Knuth, TAOCP 3, 6.4), which spreads consecutive identifiers as well
 * as strides. Stored data depends on it, so it must never change.
 */
export function bucketOf(id: bigint, buckets: number): number {
  return Number((BigInt.asUintN(64, id * GOLDEN) * BigInt(buckets)) >> 64n);
}
