import type { Caller } from "../accounts/admission.ts";
import { settleWithin } from "../core/concurrency.ts";
import { MAX_STORE_CALL_MS } from "../core/time.ts";
import { toInt64Json } from "../orders/int64.ts";
import { LIFECYCLE, transition } from "../orders/lifecycle.ts";
import type { ApplyResult, OrderStore } from "../orders/order-store.ts";
import type { StoreOperation, StoreOutcome } from "../orders/store-operation.ts";
import { acceptsGzip, gzipped } from "./compression.ts";
import type { Deprecation } from "./deprecation.ts";
import type { ErrorCode } from "./errors.ts";
import { orderList } from "./order-list.ts";
import { type Reply, toWebBody } from "./reply.ts";
import type { RequestHead } from "./request.ts";

/** The prefix of the paths of operations without another version, below `basePath`. */
export const API_VERSION_PATH = "/v1";

export function fullPath({ version, path }: Operation): string {
  return `${version === undefined ? API_VERSION_PATH : `/${version}`}${path}`;
}

export const INTERFACE_VERSION = "1.0.0";

/** One operation of the API, as data: routing, headers and the OpenAPI document are derived from it. */
export interface Operation {
  readonly id: string;
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** The version in its path, such as `v2`. @default v1 */
  readonly version?: `v${number}`;
  /** Relative to the base URL. A segment in braces is a parameter. */
  readonly path: `/${string}`;
  readonly tag: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters?: Readonly<Record<string, OperationParameter>>;
  readonly success: {
    readonly status: 200 | 201 | 202 | 204;
    readonly description: string;
    /** The body: the name of a schema of the document, or a JSON Schema. Missing for a response without a body. */
    readonly schema?: "OrderList" | "Pet" | Readonly<Record<string, unknown>>;
  };
  readonly errors: readonly ErrorCode[];
  readonly ownErrors?: Readonly<Record<string, OwnError>>;
  readonly input?: { readonly parameters: readonly object[]; readonly requestBody?: object };
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

/** An error that is not in `ERRORS`. */
export interface OwnError {
  /** 400 to 599. */
  readonly status: number;
  readonly message: string;
  /** The JSON Schema of its body. @default the Error body */
  readonly schema?: Readonly<Record<string, unknown>>;
}

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
    stability: "beta",
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
    errors: ["order_not_found", ...LIFECYCLE.codesOf("cancel"), "precondition_failed"],
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

/** An admitted request, as an operation receives it. */
export interface OperationCall<Parameters = Readonly<Record<string, bigint | string>>> {
  readonly parameters: Parameters;
  readonly caller: Caller;
  readonly requestId: string;
  readonly request: RequestHead;
  readonly orders: OrderStore;
}

export type ParameterValues<Parameters> = {
  readonly [Name in keyof Parameters]: Parameters[Name] extends { readonly type: "string" } ? string : bigint;
};

/** Performs an admitted request. */
export type Implementation = (call: OperationCall) => Promise<Reply>;

/** An operation whose only effect is in the store: its part there, and the reply to the outcome. Both are pure. */
export interface StoreImplementation {
  toStoreOperation(parameters: OperationCall["parameters"]): StoreOperation;
  toReply(outcome: StoreOutcome, call: OperationCall): Promise<Reply>;
  /** Replies without the effect, because a precondition is false. Missing for an operation without one. */
  withoutEffect?(call: OperationCall): Promise<Reply>;
}

/** The methods of operations, as the value of a header. `HEAD` works wherever `GET` does. */
export function allowedMethods(operations: readonly Operation[]): string {
  const methods = operations.flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method]));
  return [...new Set(methods)].join(", ");
}

/** Reads a pet for the deprecated `GET /v1/pets/{petId}`. Returns `undefined` if there is none. */
export type PetSource = (petId: bigint) => Promise<object | undefined>;

type OutcomeOf<Type> = Extract<StoreOutcome, { readonly type: Type }>;

/** Shorter lists are not compressed. */
const MIN_GZIP_CHARS = 1_024;

export function createImplementations(
  pets: PetSource,
): Readonly<Record<OperationId, Implementation | StoreImplementation>> {
  return {
    listOrders: {
      toStoreOperation: () => ({ type: "list" }),
      async toReply(outcome, { request }) {
        const { body, ended } = await orderList(outcome as OutcomeOf<"list">);
        const headers = { vary: "accept-encoding" };
        const isShort = typeof body === "string" && body.length < MIN_GZIP_CHARS;
        if (isShort || !acceptsGzip(request.headers.get("accept-encoding")))
          return { status: 200, body, ended, headers };
        // Nobody reads the body of a HEAD, and compressing it would read pages.
        const sent = request.method === "HEAD" ? body : gzipped(toWebBody(body));
        return { status: 200, body: sent, ended, headers: { ...headers, "content-encoding": "gzip" } };
      },
    },

    cancelOrder: {
      toStoreOperation: ({ orderId }) => ({ type: "apply", id: orderId as bigint, event: "cancel" }),
      async toReply(outcome) {
        const result = (outcome as OutcomeOf<"apply">).result as ApplyResult<"cancel">;
        if (!result.ok) return { error: result.code };
        return { status: 204, change: { event: "cancel", order: result.order } };
      },
      async withoutEffect({ orders, parameters: { orderId } }) {
        const order = await orders.find(orderId as bigint);
        if (order === undefined) return { error: "order_not_found" };
        const result = transition(order, "cancel", 0);
        return { error: result.ok ? "precondition_failed" : result.code };
      },
    },

    async getPet({ parameters: { petId } }) {
      const pet = await settleWithin(MAX_STORE_CALL_MS, pets(petId as bigint), "pets()");
      return pet ? { status: 200, body: toInt64Json(pet) } : { error: "pet_not_found" };
    },
  };
}
