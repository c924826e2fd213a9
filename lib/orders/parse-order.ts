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
  const isPlain = PLAIN_LINE.test(line);
  let value: unknown;
  try {
    value = isPlain ? JSON.parse(line) : parseInt64Json(line);
  } catch {
    return invalid([{ path: "", message: "This is not valid JSON." }]);
  }
  const parsed = parseOrder(value);
  if (parsed.ok && !isPlain && hasRepeatedField(line, value as object))
    return invalid([{ path: "", message: "A field occurs twice. Write each field once." }]);
  return parsed;
}

const PLAIN_VALUES: Readonly<Record<string, string>> = {
  integer: String.raw`-?\d{1,15}`,
  string: String.raw`"[^"\\]*"`,
  boolean: "true|false",
};

/**
 * The usual form of a line: each field once, in the order of the table, and integers that `JSON.parse` reads exactly.
 * Most lines have it, and need no other check of their text. For a text that is valid JSON.
 */
const PLAIN_LINE = new RegExp(
  `^\\{${[...Object.entries(ORDER_FIELDS), ["status", { schema: { type: "string" } }] as const]
    .map(([name, { schema }]) => `(?:,? ?"${name}": ?(?:${PLAIN_VALUES[`${schema["type"]}`]}))?`)
    .join("")}\\}\\r?$`,
);

/** `JSON.parse` keeps the last of several fields with one name, other parsers the first. For a valid order. */
function hasRepeatedField(line: string, order: object): boolean {
  // No value of a valid order contains a quotation mark.
  let strings = 0;
  for (const name in order) strings += typeof order[name as keyof typeof order] === "string" ? 2 : 1;
  let quotes = 0;
  for (let at = line.indexOf('"'); at !== -1; at = line.indexOf('"', at + 1)) quotes++;
  return quotes !== 2 * strings;
}

/**
 * Validates an untrusted value and reports every issue. Integers may be `number` or `bigint`. As in `JSON.stringify`,
 * inherited fields do not count, and one that is `undefined` is missing.
 */
export function parseOrder(value: unknown): ParsedOrder {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return invalid([{ path: "", message: "An order must be a JSON object." }]);
  }
  const issues: Issue[] = [];
  // A copy, so that what is returned is what was validated: a getter could return something else the next time.
  const fields: Readonly<Record<string, unknown>> = { ...value };
  for (const path of Object.keys(fields)) {
    const validate = VALIDATORS.get(path);
    if (validate === undefined) issues.push({ path, message: UNKNOWN_FIELD });
    else if (fields[path] !== undefined) {
      const message = validate(fields[path]);
      if (message !== undefined) issues.push({ path, message });
    }
  }
  if (fields["id"] === undefined) issues.push({ path: "id", message: "The identifier is missing." });
  if (issues.length > 0) return invalid(issues);

  const { status = "pending" } = fields as { readonly status?: OrderStatus };
  return { ok: true, order: { record: toRecord(fields as unknown as JsonRecord), status } };
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
