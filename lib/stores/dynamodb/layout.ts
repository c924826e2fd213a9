/**
 * How the DynamoDB tables are named, keyed and laid out. Plain data without a vendor's library, so that the
 * infrastructure makes exactly the tables that the store reads.
 *
 * `PREFIX-orders`, one item an order: `bucket` (partition key, by hash of the identifier), `id` (sort key),
 * `status`, `wire` (the record as it is sent), `<event>Mark` (of the last move by it, see `dynamodb-orders.ts`).
 *
 * `PREFIX-accounts`, one item an account: `id` (partition key), `plan`, `perMinute` and `perDay` where agreed,
 * `keys` by hash, `revision` (of all these), and what admission alone writes: `minute`, `minuteCount`, `day`,
 * `dayCount`, and `penalties` by the key's hash.
 */

/** A table's name and keys. */
export interface TableShape {
  readonly name: string;
  readonly partitionKey: KeyAttribute;
  readonly sortKey?: KeyAttribute;
}

/** An attribute that a table is keyed by. */
export interface KeyAttribute {
  readonly name: string;
  readonly type: "N" | "S";
}

/** Both tables under a prefix. */
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

/** What `CreateTable` asks for to make a table: on demand, so that nothing has to be sized. */
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

/** Into how many buckets orders are spread, and so read in parallel, where the table does not say otherwise. */
export const DEFAULT_BUCKETS = 16;

/**
 * The key of the one item in the orders table that is no order: `buckets` of it says how many there are. No order
 * is in this bucket, so no list meets the item.
 */
export const SETTINGS_KEY = { bucket: { N: "-1" }, id: { N: "0" } } as const;

const GOLDEN = 0x9e37_79b9_7f4a_7c15n;

/**
 * The bucket of an order: multiplicative hashing (Knuth, TAOCP 3, 6.4), which spreads neighbours as well as
 * strides. It is part of the stored data, so it never changes.
 */
export function bucketOf(id: bigint, buckets: number): number {
  return Number((BigInt.asUintN(64, id * GOLDEN) * BigInt(buckets)) >> 64n);
}
