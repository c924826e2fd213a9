import { ERRORS } from "../../errors.ts";
import { ORDER_FIELDS, orderJsonSchema } from "../../orders/fields.ts";

const order = Object.fromEntries(Object.entries(ORDER_FIELDS).map(([name, { example }]) => [name, example]));

/** The schemas of the OpenAPI document. */
export const SCHEMAS = {
  Order: { ...orderJsonSchema, examples: [order] },
  OrderList: {
    type: "array",
    description: "Orders, ascending by `id`.",
    items: { $ref: "#/components/schemas/Order" },
  },
  Pet: {
    type: "object",
    description: "An animal, with the fields that the store keeps.",
    additionalProperties: true,
  },
  Error: {
    type: "object",
    description: "The body of every error response.",
    additionalProperties: false,
    required: ["code", "message", "status"],
    properties: {
      code: {
        type: "string",
        enum: Object.keys(ERRORS),
        description: "Machine-readable error code.",
        examples: ["order_not_found"],
      },
      message: {
        type: "string",
        description: "Human-readable description.",
        examples: [ERRORS.order_not_found.message],
      },
      status: { type: "integer", description: "The HTTP status code.", examples: [404] },
    },
  },
} as const;

/** Examples of successful responses, by schema. */
export const EXAMPLES = {
  OrderList: {
    orders: {
      summary: "Orders, one with every field and one with the identifier alone",
      value: [order, { id: 1002 }],
    },
    none: { summary: "A store without orders", value: [] },
  },
  Pet: { pet: { summary: "An animal", value: { id: 7, name: "Rex" } } },
} as const;

const integer = { type: "integer", minimum: 0 } as const;
const text = { type: "string" } as const;

/** The headers of the OpenAPI document. */
export const HEADERS = {
  "X-RateLimit-Limit": { description: "The limit that applies to the caller.", schema: integer, example: 60 },
  "X-RateLimit-Remaining": {
    description: "Requests left in the current window.",
    schema: integer,
    example: 59,
  },
  "X-RateLimit-Reset": {
    description: "When the limit resets, in Unix seconds.",
    schema: integer,
    example: 1_795_176_060,
  },
  "X-Request-Id": {
    description: "Identifies this request. Include it when you ask for help.",
    schema: text,
    example: "7f3f1c5e-4a0e-4d52-9d35-8d4c1f6a2b90",
  },
  "Retry-After": {
    description: "Seconds to wait before the next request.",
    schema: { type: "integer", minimum: 1 },
    example: 30,
  },
  "WWW-Authenticate": {
    description: "The bearer challenge. Some platforms rename this header.",
    schema: text,
    example: 'Bearer realm="store-orders"',
  },
  Deprecation: {
    description: "Deprecated since this time (RFC 9745).",
    schema: text,
    example: "@1780272000",
  },
  Sunset: {
    description: "Removed at this time (RFC 8594).",
    schema: text,
    example: "Tue, 01 Jun 2027 00:00:00 GMT",
  },
  Link: {
    description: "The page that explains the change.",
    schema: text,
    example: '</docs>; rel="deprecation"; type="text/html", </docs>; rel="sunset"; type="text/html"',
  },
} as const;
