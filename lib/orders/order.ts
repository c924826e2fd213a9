import { isInt64 } from "./int64.ts";

/** An order as the API sends it: exactly these five fields. A missing field is omitted, never `null`. */
export interface OrderRecord {
  /** Unique order identifier, int64. */
  readonly id: bigint;
  /** Identifier of the animal in this order, int64. */
  readonly petId?: bigint;
  /** Number of units ordered, int32. */
  readonly quantity?: number;
  /** Expected or actual ship date: an RFC 3339 date-time with an offset, stored exactly as written. */
  readonly shipDate?: string;
  readonly complete?: boolean;
}

export interface OrderField {
  readonly description: string;
  /** The field's JSON Schema, without its description. */
  readonly schema: Readonly<Record<string, unknown>>;
  readonly example: number | string | boolean;
  /** Returns what to write instead of an invalid value, otherwise `undefined`. */
  validate(value: unknown): string | undefined;
}

/** The largest quantity. Client generators map the field to int32, and this is the largest int32. */
export const MAX_QUANTITY = 2_147_483_647;

const DESCRIPTIONS: Readonly<Record<keyof OrderRecord, Omit<OrderField, "validate">>> = {
  id: {
    description: "Unique order identifier.",
    schema: { type: "integer", format: "int64" },
    example: 1001,
  },
  petId: {
    description: "Identifier of the animal in this order.",
    schema: { type: "integer", format: "int64" },
    example: 7,
  },
  quantity: {
    description: "Number of units ordered.",
    schema: { type: "integer", minimum: 0, maximum: MAX_QUANTITY },
    example: 2,
  },
  shipDate: {
    description:
      "Expected or actual ship date: RFC 3339 with an offset of at most 18 hours, in the years 0001 to 9999, without " +
      "leap seconds, with an upper-case T and Z and at most nine fractional digits.",
    schema: { type: "string", format: "date-time" },
    example: "2026-12-01T09:00:00Z",
  },
  complete: {
    description: "Whether the order has been fulfilled.",
    schema: { type: "boolean" },
    example: false,
  },
};

/** The order record, described once: the parser, `orderSchema` and the OpenAPI document derive from it. */
export const ORDER_FIELDS: Readonly<Record<keyof OrderRecord, OrderField>> = /* @__PURE__ */ describeFields();

function describeFields(): Readonly<Record<keyof OrderRecord, OrderField>> {
  const { id, petId, quantity, shipDate, complete } = DESCRIPTIONS;
  return {
    id: { ...id, validate: validateInt64 },
    petId: { ...petId, validate: validateInt64 },
    quantity: { ...quantity, validate: validateQuantity },
    shipDate: { ...shipDate, validate: validateShipDate },
    complete: {
      ...complete,
      validate: (value) => (typeof value === "boolean" ? undefined : "Write true or false."),
    },
  };
}

function validateShipDate(value: unknown): string | undefined {
  return typeof value === "string" && isDateTime(value)
    ? undefined
    : "Write an RFC 3339 date-time with an offset and at most nine fractional digits, in the years 0001 to 9999, " +
        "with a second up to 59 and an upper-case T and Z, such as 2026-11-20T09:30:00Z.";
}

const INT64 =
  "Write a whole number from -9223372036854775808 to 9223372036854775807, in plain digits without quotes.";

function validateInt64(value: unknown): string | undefined {
  if (typeof value === "bigint") return isInt64(value) ? undefined : `The number is too large. ${INT64}`;
  if (!Number.isInteger(value)) return INT64;
  return Number.isSafeInteger(value)
    ? undefined
    : `The number is too large to be exact; in JavaScript, pass a bigint. ${INT64}`;
}

function validateQuantity(value: unknown): string | undefined {
  const range = `Write a whole number from 0 to ${MAX_QUANTITY}, in plain digits without quotes.`;
  const isWhole = typeof value === "bigint" || Number.isInteger(value);
  if (isWhole && Number(value) > MAX_QUANTITY) return `The number is too large. ${range}`;
  if (typeof value === "bigint") return `Pass a number, not a bigint. ${range}`;
  return Number.isInteger(value) && Number(value) >= 0 ? undefined : range;
}

const DATE_TIME =
  /^(?!0000)\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:(?:0\d|1[0-7]):[0-5]\d|18:00))$/;

/** RFC 3339 as the date types of Go, Java, Python and JavaScript read it: another would break a list for a client. */
export function isDateTime(text: string): boolean {
  if (!DATE_TIME.test(text)) return false;
  const day = Number(text.slice(8, 10));
  // Every month has 28 days.
  if (day <= 28) return true;
  const [year, month] = [Number(text.slice(0, 4)), Number(text.slice(5, 7))];
  // The last day of this month is the one before the first of the next.
  return day <= new Date(Date.UTC(year, month, 0)).getUTCDate();
}

export const orderExample: object = /* @__PURE__ */ mapFields(({ example }) => example);

/** The JSON Schema (draft 2020-12) of an order, as in the OpenAPI document. */
export const orderJsonSchema = {
  type: "object",
  description: "An order for an animal. A field that an order does not have is omitted, never null.",
  additionalProperties: false,
  properties: /* @__PURE__ */ mapFields(({ description, schema, example }) => {
    return { ...schema, description, examples: [example] };
  }),
} as const;

function mapFields<T>(map: (field: Omit<OrderField, "validate">) => T): Record<string, T> {
  return Object.fromEntries(Object.entries(DESCRIPTIONS).map(([name, field]) => [name, map(field)]));
}
