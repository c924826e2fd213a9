import { type Issue, StoreOrdersError } from "../core/errors.ts";
import type { OrderChange, OrderWithHistory } from "./history.ts";
import { parseInt64Json } from "./int64.ts";
import {
  changesRecord,
  findStatusProblem,
  LIFECYCLE,
  type OrderEvent,
  type OrderStatus,
  type StoredOrder,
} from "./lifecycle.ts";
import { ORDER_FIELDS, type OrderField, type OrderRecord } from "./order.ts";

/** Every serialised record starts with this, and no other field can contain it. */
const RECORD_START = '{"id":';

/** Serialises a valid record. The same JSON text is stored and sent, so equal records have equal text. */
export function orderToJson({ id, petId, quantity, shipDate, complete }: OrderRecord): string {
  let text = `${RECORD_START}${id}`;
  if (petId !== undefined) text += `,"petId":${petId}`;
  if (quantity !== undefined) text += `,"quantity":${quantity}`;
  if (shipDate !== undefined) text += `,"shipDate":${JSON.stringify(shipDate)}`;
  if (complete !== undefined) text += `,"complete":${complete}`;
  return `${text}}`;
}

/** Serialises an order with its status as one line of newline-delimited JSON, the format of import and export. */
export function toLine({ record, status }: StoredOrder): string {
  return `${orderToJson(record).slice(0, -1)},"status":${JSON.stringify(status)}}`;
}

/** Parses what `orderToJson` wrote, with exact identifiers. For input from elsewhere use `parseOrder`, which validates. */
export function orderFromJson(wire: string): OrderRecord {
  return toRecord(parseInt64Json(wire) as JsonRecord);
}

export function idOfWire(wire: string): bigint {
  // Without a comma, -1 leaves out the brace.
  return BigInt(wire.slice(RECORD_START.length, wire.indexOf(",")));
}

export function countRecords(json: string): number {
  let count = 0;
  for (let at = json.indexOf(RECORD_START); at !== -1; at = json.indexOf(RECORD_START, at + 1)) count++;
  return count;
}

/** A valid record as JSON gives it: integers as `number`, or as `bigint` beyond 2^53. */
export interface JsonRecord extends Omit<OrderRecord, "id" | "petId"> {
  readonly id: number | bigint;
  readonly petId?: number | bigint;
}

export function toRecord({ id, petId, quantity, shipDate, complete }: JsonRecord): OrderRecord {
  // Assignments take a third of the time of rest and spread, which an import notices.
  const record: { -readonly [Field in keyof OrderRecord]: OrderRecord[Field] } = { id: BigInt(id) };
  if (petId !== undefined) record.petId = BigInt(petId);
  if (quantity !== undefined) record.quantity = quantity;
  if (shipDate !== undefined) record.shipDate = shipDate;
  if (complete !== undefined) record.complete = complete;
  return record;
}

/** A row of an order cannot be read. The row was not changed. */
export class DamagedOrderError extends StoreOrdersError {
  override readonly name = "DamagedOrderError";
  readonly code = "damaged_order";
  readonly retryable = false;
}

/** Reads an order as a database keeps it, also with an unknown status. Throws `DamagedOrderError`. */
export function readStoredOrder(id: bigint, wire: string, status: string): StoredOrder {
  try {
    const record = orderFromJson(wire);
    const { quantity = 0, shipDate = "", complete = false } = record;
    if (record.id !== id) throw new Error(`It is that of order ${record.id}.`);
    // Another type would be sent as it is, and nobody could read the page that it is on.
    const isDate = typeof shipDate === "string" && PLAIN_STRING.test(shipDate);
    if (typeof quantity !== "number" || !isDate || typeof complete !== "boolean")
      throw new Error("A field has another type.");
    return { record, status: status as OrderStatus };
  } catch (cause) {
    throw new DamagedOrderError(`The record of order ${id} is damaged: ${wire.slice(0, MAX_SHOWN_CHARS)}`, {
      cause,
    });
  }
}

export function readOrderWithHistory(
  id: bigint,
  wire: string,
  status: string,
  readHistory: () => readonly OrderChange[],
): OrderWithHistory {
  const order = readStoredOrder(id, wire, status);
  try {
    return { ...order, history: readHistory() };
  } catch (cause) {
    throw new DamagedOrderError(`The history of order ${id} is damaged.`, { cause });
  }
}

/** Of a damaged record, only the identifier is known, which suffices for an event that changes no field. */
export function readOrderToChange(id: bigint, wire: string, status: string, event: OrderEvent): StoredOrder {
  try {
    return readStoredOrder(id, wire, status);
  } catch (error) {
    if (changesRecord(event)) throw error;
    return { record: { id }, status: status as OrderStatus };
  }
}

const MAX_SHOWN_CHARS = 80;

const PLAIN_STRING = /^[^"\\\p{Cc}]*$/u;

/** A parsed order, or every issue found. */
export type ParsedOrder<Order = StoredOrder> =
  | { readonly ok: true; readonly order: Order }
  | { readonly ok: false; readonly code: "invalid_order"; readonly issues: readonly Issue[] };

/** Parses one line of newline-delimited JSON: the five fields and `status`, as `parse` reads them. */
export function parseLine<Order = StoredOrder>(
  line: string,
  parse: (value: unknown) => ParsedOrder<Order> = parseOrder as (value: unknown) => ParsedOrder<Order>,
): ParsedOrder<Order> {
  const isPlain = PLAIN_LINE.test(line);
  let value: unknown;
  try {
    value = isPlain ? JSON.parse(line) : parseInt64Json(line);
  } catch {
    return invalidOrder([{ path: "", message: "This is not valid JSON." }]);
  }
  const parsed = parse(value);
  if (parsed.ok && !isPlain && hasRepeatedField(line, value as object))
    return invalidOrder([{ path: "", message: "A field occurs twice. Write each field once." }]);
  return parsed;
}

const PLAIN_VALUES: Readonly<Record<string, string>> = {
  integer: String.raw`-?\d{1,15}`,
  string: String.raw`"[^"\\]*"`,
  boolean: "true|false",
};

/** The usual form of a line: each field once, in order, with integers that `JSON.parse` reads exactly. */
const PLAIN_LINE = new RegExp(
  `^\\{${[...Object.entries(ORDER_FIELDS), ["status", { schema: { type: "string" } }] as const]
    .map(([name, { schema }]) => `(?:,? ?"${name}": ?(?:${PLAIN_VALUES[`${schema["type"]}`]}))?`)
    .join("")}\\}\\r?$`,
);

/** `JSON.parse` keeps the last of several fields with one name, other parsers the first. For a valid order. */
function hasRepeatedField(line: string, order: object): boolean {
  // No value of a valid order contains a quotation mark.
  let strings = 0;
  for (const value of Object.values(order)) strings += typeof value === "string" ? 2 : 1;
  let quotes = 0;
  for (let at = line.indexOf('"'); at !== -1; at = line.indexOf('"', at + 1)) quotes++;
  return quotes !== 2 * strings;
}

/**
 * Validates an untrusted value and reports every issue. Integers may be `number` or `bigint`. Without a status, an order
 * gets `assumed`: with `pending`, a complete one is shipped. Without `assumed`, it is pending, and must not be complete.
 */
export function parseOrder(value: unknown, assumed?: OrderStatus): ParsedOrder {
  const parsed = parseFields(value, validateStatus);
  if (!parsed.ok) return parsed;
  const { record } = parsed.order;
  const isAdvanced = assumed === "pending" && record.complete === true;
  const { status = isAdvanced ? "shipped" : (assumed ?? "pending") } = parsed.order;
  const message = findStatusProblem({ record, status });
  return message === undefined
    ? { ok: true, order: { record, status } }
    : invalidOrder([{ path: "complete", message }]);
}

/** The fields of an order, whose status is unknown if it is not one of them. */
export interface OrderFields {
  readonly record: OrderRecord;
  readonly status?: OrderStatus | undefined;
}

/** Like `parseOrder`, but each field by itself. Records as the API sends them have no status, and no rule for it. */
export function parseFields(value: unknown, statusRule?: OrderField["validate"]): ParsedOrder<OrderFields> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return invalidOrder([{ path: "", message: "An order must be a JSON object." }]);
  const issues: Issue[] = [];
  const names = [...Object.keys(ORDER_FIELDS), ...(statusRule ? ["status"] : [])];
  // A copy, so that what is returned is what was validated: a getter could return something else the next time.
  const fields: Readonly<Record<string, unknown>> = { ...value };
  for (const path of Object.keys(fields)) {
    const validate = path === "status" ? statusRule : ruleOf(path);
    if (validate === undefined)
      issues.push({ path, message: `Unknown field. Known fields: ${names.join(", ")}.` });
    else if (fields[path] !== undefined) {
      const isEmpty = fields[path] === null && path !== "id";
      const message = isEmpty ? "Leave out a field that has no value." : validate(fields[path]);
      if (message !== undefined) issues.push({ path, message });
    }
  }
  if (fields["id"] === undefined) issues.push({ path: "id", message: "The identifier is missing." });
  if (issues.length > 0) return invalidOrder(issues);

  const { status } = fields as { readonly status?: OrderStatus };
  return { ok: true, order: { record: toRecord(fields as unknown as JsonRecord), status } };
}

const ruleOf = (path: string): OrderField["validate"] | undefined =>
  Object.hasOwn(ORDER_FIELDS, path) ? ORDER_FIELDS[path as keyof typeof ORDER_FIELDS].validate : undefined;

const validateStatus = (value: unknown): string | undefined =>
  LIFECYCLE.isStatus(value) ? undefined : `Write one of ${LIFECYCLE.statuses.join(", ")}.`;

function invalidOrder(issues: readonly Issue[]): ParsedOrder<never> {
  return { ok: false, code: "invalid_order", issues };
}
