import type { Issue } from "../errors.ts";
import { isInt64, parseInt64Json } from "./int64.ts";
import { ORDER_STATUSES, type OrderStatus } from "./lifecycle.ts";

/**
 * An order as the API sends it (specification, "Order"): exactly these five fields. A field that an order does
 * not have is absent, never `null`.
 */
export interface OrderRecord {
  /** Unique order identifier, int64. */
  readonly id: bigint;
  /** Identifier of the animal in this order, int64. */
  readonly petId?: bigint;
  /** Number of units ordered, a whole number. */
  readonly quantity?: number;
  /** Expected or actual ship date, an RFC 3339 date-time with an offset, kept as it was written. */
  readonly shipDate?: string;
  /** Whether the order has been fulfilled. */
  readonly complete?: boolean;
}

/** An order as a store keeps it: its record, and beside it the status that is never sent (decision 2). */
export interface StoredOrder {
  readonly record: OrderRecord;
  readonly status: OrderStatus;
}

/** An order that was read from JSON, or every reason why it is none. */
export type ParsedOrder = { readonly order: StoredOrder } | { readonly issues: readonly Issue[] };

/** Writes a record as the one JSON text that goes over the wire and into storage. */
export function toWire({ id, petId, quantity, shipDate, complete }: OrderRecord): string {
  let text = `{"id":${id}`;
  if (petId !== undefined) text += `,"petId":${petId}`;
  if (quantity !== undefined) text += `,"quantity":${quantity}`;
  if (shipDate !== undefined) text += `,"shipDate":"${shipDate}"`;
  if (complete !== undefined) text += `,"complete":${complete}`;
  return `${text}}`;
}

/** Writes an order with its status as one line of newline-delimited JSON, the form of import and export. */
export function toLine({ record, status }: StoredOrder): string {
  return `${toWire(record).slice(0, -1)},"status":"${status}"}`;
}

/** Reads back what `toWire` wrote. */
export function fromWire(wire: string): OrderRecord {
  return toRecord(parseInt64Json(wire) as JsonOrder);
}

/** Reads one line of newline-delimited JSON: the five fields and `status`, which is `pending` if absent. */
export function parseLine(line: string): ParsedOrder {
  let value: unknown;
  try {
    value = parseInt64Json(line);
  } catch {
    return { issues: [{ path: "", message: "This is not JSON." }] };
  }
  return parseOrder(value);
}

/** Checks a value from outside (integers as `number` or `bigint`) and tells everything that is wrong with it. */
export function parseOrder(value: unknown): ParsedOrder {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return { issues: [{ path: "", message: "An order is a JSON object." }] };
  }
  const issues: Issue[] = [];
  for (const [path, field] of Object.entries(value)) {
    const rule = Object.hasOwn(FIELDS, path) ? FIELDS[path as keyof typeof FIELDS] : undefined;
    if (rule === undefined)
      issues.push({
        path,
        message: `Unknown field. Known: ${Object.keys(FIELDS).join(", ")}.`,
      });
    else if (!rule.accepts(field)) issues.push({ path, message: rule.mend });
  }
  if (!Object.hasOwn(value, "id")) issues.push({ path: "id", message: FIELDS.id.mend });
  if (issues.length > 0) return { issues };

  const { status = "pending", ...record } = value as JsonOrder;
  return { order: { record: toRecord(record), status } };
}

/** A checked order as JSON gives it: integers as `number`, or as `bigint` where that does not hold them. */
interface JsonOrder extends Omit<OrderRecord, "id" | "petId"> {
  readonly id: number | bigint;
  readonly petId?: number | bigint;
  readonly status?: OrderStatus;
}

function toRecord({ id, petId, ...rest }: Omit<JsonOrder, "status">): OrderRecord {
  return {
    id: BigInt(id),
    ...(petId === undefined ? {} : { petId: BigInt(petId) }),
    ...rest,
  };
}

const int64 = {
  accepts: (value: unknown) =>
    typeof value === "bigint" ? isInt64(value) : typeof value === "number" && Number.isSafeInteger(value),
  mend: "Write a whole number from -9223372036854775808 to 9223372036854775807, in plain digits.",
};

const FIELDS = {
  id: int64,
  petId: int64,
  quantity: {
    accepts: (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0,
    mend: "Write a whole number of at least 0.",
  },
  shipDate: {
    accepts: (value: unknown) => typeof value === "string" && isDateTime(value),
    mend: "Write an RFC 3339 date-time with an offset, such as 2026-11-20T09:30:00Z.",
  },
  complete: {
    accepts: (value: unknown) => typeof value === "boolean",
    mend: "Write true or false.",
  },
  status: {
    accepts: (value: unknown) => (ORDER_STATUSES as readonly unknown[]).includes(value),
    mend: `Write one of ${ORDER_STATUSES.join(", ")}.`,
  },
};

const DATE_TIME =
  /^(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/i;

/** True for an RFC 3339 date-time with an offset whose day exists. */
export function isDateTime(text: string): boolean {
  const [, year, month, day] = DATE_TIME.exec(text) ?? [];
  if (day === undefined) return false;
  return Number(day) <= new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
}
