import { ERRORS } from "../errors.ts";

/** The schemas of the OpenAPI document (specification, "Resources and their fields"). */
export const SCHEMAS = {
  Order: {
    type: "object",
    additionalProperties: false,
    properties: {
      id: { type: "integer", format: "int64", description: "Unique order identifier." },
      petId: { type: "integer", format: "int64", description: "Identifier of the animal in this order." },
      quantity: { type: "integer", description: "Number of units ordered." },
      shipDate: { type: "string", format: "date-time", description: "Expected or actual ship date." },
      complete: { type: "boolean", description: "Whether the order has been fulfilled." },
    },
    example: { id: 1001, petId: 7, quantity: 2, shipDate: "2026-12-01T09:00:00Z", complete: false },
  },
  OrderList: { type: "array", items: { $ref: "#/components/schemas/Order" } },
  Pet: { type: "object", description: "What the pet source knows of it." },
  Error: {
    type: "object",
    additionalProperties: false,
    required: ["code", "message", "status"],
    properties: {
      code: { type: "string", enum: Object.keys(ERRORS), description: "Machine-readable error code." },
      message: { type: "string", description: "Human-readable description." },
      status: { type: "integer", description: "The HTTP status code." },
    },
  },
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
  "X-Request-Id": { description: "Names this request; give it when you ask for help.", schema: text },
  "Retry-After": { description: "Seconds to wait before the next request.", schema: integer, example: 30 },
  "WWW-Authenticate": {
    description: "The bearer challenge.",
    schema: text,
    example: 'Bearer realm="store-orders"',
  },
  Deprecation: {
    description: "Deprecated since this moment (RFC 9745).",
    schema: text,
    example: "@1780272000",
  },
  Sunset: {
    description: "Gone from this moment on (RFC 8594).",
    schema: text,
    example: "Tue, 01 Jun 2027 00:00:00 GMT",
  },
  Link: {
    description: "Where the change is explained.",
    schema: text,
    example: '</docs>; rel="deprecation"',
  },
} as const;
