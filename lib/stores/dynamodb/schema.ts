/**
 * The two DynamoDB tables. Plain data without the AWS client, so that the infrastructure creates exactly the tables that
 * the store reads. PREFIX stands for the default names; each table can have any other: see `tableNames`.
 *
 * `PREFIX-orders` has one item per order: `bucket` (partition key: a hash of the identifier), `id` (sort key),
 * `status`, `wire` (the record in the form in which it is sent), and its history: `p`, `c`, `s` and `f`, for each event.
 * Attributes of one letter are the store's: one that it does not know is taken for an event of a newer version.
 * The sparse index `outbox` has the orders with changes that have not been delivered; see outbox.ts.
 *
 * `PREFIX-accounts` has two items per account, with the partition key `id`. The admission item alone decides about
 * requests; see admission-item.ts. The details item has what people want to know about the keys; see accounts.ts.
 */
import { invalidInput } from "../../core/errors.ts";

/** The names of both tables. */
export interface DynamodbTableNames {
  readonly orders: string;
  readonly accounts: string;
}

/**
 * A prefix, for `PREFIX-orders` and `PREFIX-accounts`, or names of their own, such as that of a restored table. With
 * both, a table without a name of its own gets that of the prefix. A prefix with a comma is both: `ORDERS,ACCOUNTS`.
 */
export type DynamodbTableNaming =
  | { readonly prefix: string; readonly tables?: OptionalNames | undefined }
  | { readonly prefix?: undefined; readonly tables: DynamodbTableNames };

type OptionalNames = { readonly [Table in keyof DynamodbTableNames]?: string | undefined };

/** @throws {InvalidInputError} if a name is missing, or both are the same */
export function tableNames({ prefix, tables = {} }: DynamodbTableNaming): DynamodbTableNames {
  const [, orders, accounts] = /^(.*?),(.*)$/.exec(prefix ?? "") ?? [];
  const inPrefix = { orders, accounts };
  const nameOf = (table: keyof DynamodbTableNames) => {
    const name = tables[table] ?? inPrefix[table] ?? (prefix && `${prefix}-${table}`);
    if (name) return name;
    throw invalidInput(`tables.${table}`, "Name this table, too, or set the prefix of both.");
  };
  const names = { orders: nameOf("orders"), accounts: nameOf("accounts") };
  const message = `Both tables are named ${names.orders}. Orders and accounts need a table each.`;
  if (names.orders === names.accounts) throw invalidInput("tables", message);
  return names;
}

export const OUTBOX_INDEX = "outbox";

interface KeyAttribute {
  readonly name: string;
  readonly type: "N" | "S";
}

/** A table. Its index has the items with both keys, and of these its keys and the included attributes. */
export interface TableDefinition {
  readonly name: string;
  readonly partitionKey: KeyAttribute;
  readonly sortKey?: KeyAttribute;
  readonly index?: Required<Omit<TableDefinition, "index">> & { readonly included: readonly string[] };
}

export function tableDefinitions(
  naming: DynamodbTableNaming,
): Readonly<Record<keyof DynamodbTableNames, TableDefinition>> {
  const { orders, accounts } = tableNames(naming);
  return {
    orders: {
      name: orders,
      partitionKey: { name: "bucket", type: "N" },
      sortKey: { name: "id", type: "N" },
      index: {
        name: OUTBOX_INDEX,
        partitionKey: { name: "bucket", type: "N" },
        sortKey: { name: "u", type: "N" },
        included: ["o"],
      },
    },
    accounts: { name: accounts, partitionKey: { name: "id", type: "S" } },
  };
}

/** The input of `CreateTable`. The table is on demand, so nothing has to be sized. */
export function createTableInput({ name, partitionKey, sortKey, index }: TableDefinition) {
  const attributes = [partitionKey, sortKey, index?.sortKey].filter((key) => key !== undefined);
  return {
    TableName: name,
    BillingMode: "PAY_PER_REQUEST" as const,
    AttributeDefinitions: attributes.map((key) => ({ AttributeName: key.name, AttributeType: key.type })),
    KeySchema: keySchema(partitionKey, sortKey),
    ...(index && {
      GlobalSecondaryIndexes: [
        {
          IndexName: index.name,
          KeySchema: keySchema(index.partitionKey, index.sortKey),
          Projection: { ProjectionType: "INCLUDE" as const, NonKeyAttributes: [...index.included] },
        },
      ],
    }),
  };
}

function keySchema(partitionKey: KeyAttribute, sortKey?: KeyAttribute) {
  return [
    { AttributeName: partitionKey.name, KeyType: "HASH" as const },
    ...(sortKey ? [{ AttributeName: sortKey.name, KeyType: "RANGE" as const }] : []),
  ];
}

/**
 * The settings item records it in `layout`. Any other item with this attribute has a later layout: so a process that
 * knows only this one notices it without a further request. Each write is conditional on an item without it, and each
 * read rejects an item with it.
 *
 * A version that changes the layout records its own in the settings item before it writes any item in it, and sets
 * `layout` in each item that an earlier version would misread.
 */
export const LAYOUT_VERSION = 1;

/** The key of the only item in the accounts table that belongs to no account. Its `environment` is that of the keys. */
export const SETTINGS_KEY = { id: { S: "/settings" } } as const;

/** The only item that is not an order. No order has this partition key; the scan of a short list skips it. */
export const ORDERS_SETTINGS_KEY = { bucket: { N: "-1" }, id: { N: "0" } } as const;

/** Each list reads every bucket. Stored data depends on it, so it must never change. */
export const BUCKETS = 16;

const GOLDEN = 0x9e37_79b9_7f4a_7c15n;

/** Multiplicative hashing (Knuth, TAOCP 3, 6.4), which spreads consecutive identifiers as well as strides. Never change it. */
export function bucketOf(id: bigint): number {
  return Number((BigInt.asUintN(64, id * GOLDEN) * BigInt(BUCKETS)) >> 64n);
}

export function orderKey(id: bigint) {
  return { bucket: { N: String(bucketOf(id)) }, id: { N: String(id) } };
}
