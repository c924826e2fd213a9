import type { ErrorCode } from "../errors.ts";
import type { Deprecation } from "./deprecation.ts";

/** One operation of the API, as data: routing, headers and the OpenAPI document come from it. */
export interface Operation {
  readonly id: string;
  readonly method: "GET" | "DELETE";
  /** Below the base address; a segment in braces is an int64 identifier. */
  readonly path: `/${string}`;
  readonly tag: "orders" | "pets";
  readonly summary: string;
  readonly description: string;
  readonly parameter?: { readonly name: string; readonly description: string };
  readonly success: {
    readonly status: 200 | 204;
    readonly description: string;
    readonly schema?: "OrderList" | "Pet";
  };
  /** What it can answer besides the errors that every operation shares. */
  readonly errors: readonly ErrorCode[];
  /** None means stable. */
  readonly stability?: "experimental" | "beta";
  readonly deprecation?: Deprecation;
  /** `false` switches the interactive try-it panel off. */
  readonly tryIt?: boolean;
}

/** Where every operation hangs (specification, "Versioning"). */
export const BASE_PATH = "/v1";

/** The version of the interface description (specification, "Versioning"). */
export const INTERFACE_VERSION = "1.0.0";

/** Every operation of the API (specification, "Endpoints"). */
export const OPERATIONS = [
  {
    id: "listOrders",
    method: "GET",
    path: "/store/orders",
    tag: "orders",
    summary: "List all orders",
    description:
      "Every order, whatever its state, ascending by `id`, as one JSON array that is streamed. " +
      "Filtering and pagination are announced for v2.",
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
    description: "Only orders with status pending can be cancelled. The change is durable before the answer.",
    parameter: { name: "orderId", description: "The identifier of the order to cancel." },
    success: { status: 204, description: "Order cancelled." },
    errors: ["order_not_found", "order_already_shipped", "order_already_cancelled"],
  },
  {
    id: "getPet",
    method: "GET",
    path: "/pets/{petId}",
    tag: "pets",
    summary: "Read a pet",
    description: "Pets move to a service of their own; this operation goes with the sunset date.",
    parameter: { name: "petId", description: "The identifier of the pet." },
    success: { status: 200, description: "The pet.", schema: "Pet" },
    errors: ["pet_not_found", "operation_sunset"],
    deprecation: { since: "2026-06-01T00:00:00Z", sunset: "2027-06-01T00:00:00Z", link: "/docs" },
  },
] as const satisfies readonly Operation[];

/** The name of an operation. */
export type OperationId = (typeof OPERATIONS)[number]["id"];

/** What any operation can answer: the errors of authentication, limits and failures. */
export const SHARED_ERRORS = [
  "missing_api_key",
  "invalid_api_key",
  "rate_limit_exceeded",
  "api_key_banned",
  "internal_error",
  "store_unavailable",
] as const satisfies readonly ErrorCode[];
