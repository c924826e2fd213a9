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
