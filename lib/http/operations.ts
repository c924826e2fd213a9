import type { ErrorCode } from "../errors.ts";
import type { Deprecation } from "./deprecation.ts";

/** One operation of the API, as data: routing, headers and the OpenAPI document are derived from it. */
export interface Operation {
  readonly id: string;
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Relative to the base URL. A segment in braces is a parameter. */
  readonly path: `/${string}`;
  /** Groups the operations of the document. */
  readonly tag: string;
  readonly summary: string;
  readonly description: string;
  /** The parameters of the path, by name. */
  readonly parameters?: Readonly<Record<string, OperationParameter>>;
  readonly success: {
    readonly status: 200 | 201 | 202 | 204;
    readonly description: string;
    /** The body: the name of a schema of the document, or a JSON Schema. Missing for a response without a body. */
    readonly schema?: "OrderList" | "Pet" | Readonly<Record<string, unknown>>;
  };
  /** Errors in addition to those that all operations share. */
  readonly errors: readonly ErrorCode[];
  /** Missing for a stable operation. */
  readonly stability?: "experimental" | "beta";
  readonly deprecation?: Deprecation;
  /** `false` disables the interactive try-it panel. */
  readonly tryIt?: boolean;
}

/** A parameter of a path. A value that is not an int64 names no resource, unless the type is `string`. */
export interface OperationParameter {
  readonly description: string;
  /** @default int64 */
  readonly type?: "int64" | "string";
}

/** All paths start with this. */
export const BASE_PATH = "/v1";

/** The version of the OpenAPI document. */
export const INTERFACE_VERSION = "1.0.0";

/** Every operation of the API. */
export const OPERATIONS = [
  {
    id: "listOrders",
    method: "GET",
    path: "/store/orders",
    tag: "orders",
    summary: "List all orders",
    description:
      "Streams every order, whatever its status, ascending by `id`, as one JSON array. " +
      "Accept gzip: a list is then about five times smaller. " +
      "An incomplete list is not valid JSON, because its array is not closed. " +
      "Filtering and pagination are planned for v2.",
    success: { status: 200, description: "All orders.", schema: "OrderList" },
    errors: [],
    tryIt: false,
  },
  {
    id: "cancelOrder",
    method: "DELETE",
    path: "/store/orders/{orderId}",
    tag: "orders",
    summary: "Cancel an order",
    description:
      "Only orders with status pending can be cancelled. The change is durable before the response is sent.",
    parameters: { orderId: { description: "The identifier of the order to cancel." } },
    success: { status: 204, description: "Order cancelled." },
    errors: ["order_not_found", "order_already_shipped", "order_already_cancelled"],
  },
  {
    id: "getPet",
    method: "GET",
    path: "/pets/{petId}",
    tag: "pets",
    summary: "Read a pet",
    description: "Pets are moving to a service of their own. This operation is removed on the sunset date.",
    parameters: { petId: { description: "The identifier of the pet." } },
    success: { status: 200, description: "The pet.", schema: "Pet" },
    errors: ["pet_not_found", "operation_sunset"],
    deprecation: { since: "2026-06-01T00:00:00Z", sunset: "2027-06-01T00:00:00Z" },
  },
] as const satisfies readonly Operation[];

/** The name of an operation. */
export type OperationId = (typeof OPERATIONS)[number]["id"];

/** One of `OPERATIONS`, possibly with other data. */
export type ServiceOperation = Operation & { readonly id: OperationId };

/** The errors that any operation can return: authentication, limits and failures. */
export const SHARED_ERRORS = [
  "missing_api_key",
  "invalid_api_key",
  "rate_limit_exceeded",
  "api_key_banned",
  "internal_error",
  "store_unavailable",
] as const satisfies readonly ErrorCode[];
