/**
 * Names, keys and attributes of the DynamoDB tables. Plain data without a dependency, so that the infrastructure
 * creates exactly the tables that the store reads.
 *
 * `PREFIX-orders` has one item per order: `bucket` (partition key: a hash of the identifier), `id` (sort key),
 * `status`, `wire` (the record in the form in which it is sent), and `<event>Mark` (the token of the last write for
 * that event).
 *
 * `PREFIX-accounts` has two items per account. The admission item alone decides about requests, and is smaller than 1
 * KB, the unit in which writes are billed:
 *
 * - `id` (partition key), `plan`, and `perMinute` and `perDay` if they are custom
 * - `minute`, `minuteCount`, `day` and `dayCount`: the windows
 * - `keys`: by short hash, one number per active key; see `packKey`
 * - `ids`: the identifiers of the keys in the order of their short hashes, if they do not follow from the hashes
 * - `tokens`: the tokens of the last writes that counted a request; see `onceOnly`
 * - `revision`: the token of the last change by an operator
 * - `details`: the version in the details item that belongs to it
 *
 * The details item, `<id>/keys`, has the details of all keys, also of inactive ones. Only operators read and
 * write it. `versions` holds them by version: a change adds a version, then the admission item names it. So a change
 * takes effect with one write, and a version that was not named, because its process stopped, has no effect. The next
 * change removes it.
 *
 * An earlier layout has one item per account. See old-layout.ts.
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

/** The identifier of the details item of an account. An account's own identifier contains no slash. */
export function detailsIdOf(accountId: string): string {
  return `${accountId}/keys`;
}

/**
 * The key of the only item in the accounts table that belongs to no account. Its `environment` is that of the keys.
 */
export const ENVIRONMENT_KEY = { id: { S: "/settings" } } as const;

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

/** Each list reads every bucket. */
export const MAX_BUCKETS = 256;

/**
 * The key of the only item in the orders table that is not an order. Its `buckets` is the number of buckets. No
 * order has this partition key, so a query of a bucket never reads the item. The scan of a short list skips it.
 */
export const BUCKET_COUNT_KEY = { bucket: { N: "-1" }, id: { N: "0" } } as const;

const GOLDEN = 0x9e37_79b9_7f4a_7c15n;

/**
 * The bucket of an order: multiplicative hashing (Knuth, TAOCP 3, 6.4), which spreads consecutive identifiers as well
 * as strides. Stored data depends on it, so it must never change.
 */
export function bucketOf(id: bigint, buckets: number): number {
  return Number((BigInt.asUintN(64, id * GOLDEN) * BigInt(buckets)) >> 64n);
}
