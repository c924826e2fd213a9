import type { Issue } from "../errors.ts";
import { ORDER_FIELDS, type OrderField } from "./fields.ts";
import { parseInt64Json } from "./int64.ts";
import { ORDER_STATUSES, type OrderStatus, type StoredOrder } from "./lifecycle.ts";
import { type JsonRecord, toRecord } from "./wire.ts";

/** A parsed order, or every issue found. */
export type ParsedOrder =
  | { readonly ok: true; readonly order: StoredOrder }
  | { readonly ok: false; readonly code: "invalid_order"; readonly issues: readonly Issue[] };

/** Parses one line of newline-delimited JSON: the five fields and `status`, default `pending`. */
export function parseLine(line: string): ParsedOrder {
  let value: unknown;
  try {
    value = parseInt64Json(line);
  } catch {
    return invalid([{ path: "", message: "This is not valid JSON." }]);
  }
  const parsed = parseOrder(value);
  if (parsed.ok && hasRepeatedField(line, value as object))
    return invalid([{ path: "", message: "A field occurs twice. Write each field once." }]);
  return parsed;
}

/** `JSON.parse` keeps the last of several fields with one name, other parsers the first. For a valid order. */
function hasRepeatedField(line: string, order: object): boolean {
  // No value of a valid order contains a quotation mark.
  let strings = 0;
  for (const name in order) strings += typeof order[name as keyof typeof order] === "string" ? 2 : 1;
  let quotes = 0;
  for (let at = line.indexOf('"'); at !== -1; at = line.indexOf('"', at + 1)) quotes++;
  return quotes !== 2 * strings;
}

/** Validates an untrusted value and reports every issue. Integers may be `number` or `bigint`. */
export function parseOrder(value: unknown): ParsedOrder {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return invalid([{ path: "", message: "An order must be a JSON object." }]);
  }
  const issues: Issue[] = [];
  for (const path of Object.keys(value)) {
    const validate = VALIDATORS.get(path);
    const message =
      validate === undefined ? UNKNOWN_FIELD : validate((value as Readonly<Record<string, unknown>>)[path]);
    if (message !== undefined) issues.push({ path, message });
  }
  if (!Object.hasOwn(value, "id")) issues.push({ path: "id", message: "The identifier is missing." });
  if (issues.length > 0) return invalid(issues);

  const { status = "pending" } = value as { readonly status?: OrderStatus };
  return { ok: true, order: { record: toRecord(value as JsonRecord), status } };
}

function validateStatus(value: unknown): string | undefined {
  const known = (ORDER_STATUSES as readonly unknown[]).includes(value);
  return known ? undefined : `Write one of ${ORDER_STATUSES.join(", ")}.`;
}

const VALIDATORS: ReadonlyMap<string, OrderField["validate"]> = new Map([
  ...Object.entries(ORDER_FIELDS).map(([name, { validate }]) => [name, validate] as const),
  ["status", validateStatus],
]);

const UNKNOWN_FIELD = `Unknown field. Known fields: ${[...VALIDATORS.keys()].join(", ")}.`;

function invalid(issues: readonly Issue[]): ParsedOrder {
  return { ok: false, code: "invalid_order", issues };
}
