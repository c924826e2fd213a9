/**
 * An order as the API sends it: exactly these five fields. A missing field is omitted, never `null`. `ORDER_FIELDS`
 * describes each field. See lib/README.md#orders.
 */
export interface OrderRecord {
  /** Unique order identifier, int64. */
  readonly id: bigint;
  /** Identifier of the animal in this order, int64. */
  readonly petId?: bigint;
  /** Number of units ordered, int32. */
  readonly quantity?: number;
  /** Expected or actual ship date: an RFC 3339 date-time with an offset, stored exactly as written. */
  readonly shipDate?: string;
  /** Whether the order has been fulfilled. */
  readonly complete?: boolean;
}
