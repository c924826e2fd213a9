import type { Caller } from "../accounts/admission.ts";
import { InvalidInputError, type Issue } from "../core/errors.ts";
import { type Deprecation, findDeprecationIssues } from "./deprecation.ts";
import { ERRORS, type ErrorCode } from "./errors.ts";
import type { Reply, RequestHead, SuccessReply } from "./response.ts";

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

const OPERATION_METHODS: ReadonlySet<string> = new Set(["GET", "POST", "PUT", "PATCH", "DELETE"]);

/** Without `TRACE` and `CONNECT`, which a `Request` cannot have. */
const METHODS: ReadonlySet<string> = new Set([...OPERATION_METHODS, "HEAD", "OPTIONS", "QUERY"]);

/**
 * True for a method that can be allowed or not allowed at a path; any other but `TRACE` gets 501. Methods are
 * case-sensitive (RFC 9110, section 9.1).
 */
export function isImplementedMethod(method: string): boolean {
  return METHODS.has(method);
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

/** An admitted request, as an operation receives it. */
export interface OperationCall<Parameters = Readonly<Record<string, bigint | string>>> {
  /** The parameters of the path, by name. */
  readonly parameters: Parameters;
  /** The account and key of the request. */
  readonly caller: Caller;
  readonly requestId: string;
  /** Method, URL and headers. */
  readonly request: RequestHead;
}

/** The values of parameters: a `bigint` for an int64, otherwise a string. */
export type ParameterValues<Parameters> = {
  readonly [Name in keyof Parameters]: Parameters[Name] extends { readonly type: "string" } ? string : bigint;
};

/** The names in braces in a path: `"orderId"` for `/orders/{orderId}`. */
type PathParameter<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PathParameter<Rest>
  : never;

/** The implementation of an operation: replies to a call. */
export type Implementation<Call = OperationCall> = (call: Call) => Promise<Reply>;

/** An operation with its implementation. Create it with `defineOperation`, which checks the types. */
export interface CustomOperation extends Operation {
  /** Called for each admitted request. */
  readonly handle: Implementation;
}

/** The argument of `defineOperation`: the operation as data, and its implementation. */
export type OperationDefinition<
  Path extends `/${string}`,
  Parameters extends Readonly<Record<PathParameter<Path>, OperationParameter>>,
  Errors extends ErrorCode,
> = Omit<Operation, "path" | "parameters" | "errors"> & {
  /** Relative to the base URL. Each segment in braces is a parameter. */
  readonly path: Path;
  /** The errors that `handle` returns, in addition to those that all operations share. */
  readonly errors: readonly Errors[];
  /** Called for each admitted request, with the parameters of the path. Nothing is read of a request's body. */
  readonly handle: (
    call: OperationCall<ParameterValues<Parameters>>,
  ) => Promise<SuccessReply | { readonly error: NoInfer<Errors> }>;
} & ([PathParameter<Path>] extends [never]
    ? { readonly parameters?: Parameters }
    : { readonly parameters: Parameters });

/**
 * Defines an operation in addition to `OPERATIONS`. It is routed, authenticated, counted and documented like these:
 *
 * ```ts
 * const readStatus = defineOperation({
 *   id: "readStatus",
 *   method: "GET",
 *   path: "/store/orders/{orderId}/status",
 *   parameters: { orderId: { description: "The identifier of the order." } },
 *   tag: "orders",
 *   summary: "Read the status of an order",
 *   description: "The status is not part of an order.",
 *   success: { status: 200, description: "The status.", schema: { type: "string" } },
 *   errors: ["order_not_found"],
 *   async handle({ parameters: { orderId } }) {
 *     const order = await store.orders.find(orderId);
 *     return order ? { status: 200, body: JSON.stringify(order.status) } : { error: "order_not_found" };
 *   },
 * });
 * const handler = createHandler({ store, operations: [...OPERATIONS, readStatus] });
 * ```
 */
export function defineOperation<
  const Path extends `/${string}`,
  const Parameters extends Readonly<Record<PathParameter<Path>, OperationParameter>>,
  const Errors extends ErrorCode,
>(definition: OperationDefinition<Path, Parameters, Errors>): CustomOperation {
  return definition as unknown as CustomOperation;
}

const PATH = /^(?:\/(?:[A-Za-z0-9._~-]+|\{\w+\}))+$/;
const IMPLEMENTED: ReadonlySet<string> = new Set(OPERATIONS.map(({ id }) => id));

/**
 * Returns the operations with their parameters in the order of the path. Throws `InvalidInputError` with everything that
 * is wrong with them.
 */
export function validateOperations(operations: readonly Operation[]): readonly Operation[] {
  const issues = operations.flatMap((operation, index) =>
    [...findIssues(operation), ...findDuplicates(operation, operations.slice(0, index))].map(
      ({ path, message }): Issue => ({ path: `operations[${index}].${path}`, message }),
    ),
  );
  if (issues.length > 0) throw new InvalidInputError(issues);
  return operations.map(withOrderedParameters);
}

function* findIssues(operation: Operation & { readonly handle?: unknown }): Iterable<Issue> {
  const { id, method, path, parameters = {}, errors, handle, deprecation } = operation;
  if (typeof handle !== "function" && !(handle === undefined && IMPLEMENTED.has(id)))
    yield { path: "handle", message: `The operation ${id} has no implementation. Add a function 'handle'.` };
  if (!OPERATION_METHODS.has(method))
    yield { path: "method", message: `Use one of: ${[...OPERATION_METHODS].join(", ")}.` };
  if (!PATH.test(path)) {
    yield {
      path: "path",
      message: "Use a path such as /store/orders/{orderId}, without a slash at the end.",
    };
  }
  const names = parameterNames(path);
  const described = Object.keys(parameters);
  for (const name of names.filter((each) => !described.includes(each)))
    yield { path: `parameters.${name}`, message: "Describe this parameter of the path." };
  for (const name of described.filter((each) => !names.includes(each)))
    yield { path: `parameters.${name}`, message: `The path has no {${name}}. Add it there, or remove it.` };
  for (const code of errors) {
    if (!Object.hasOwn(ERRORS, code)) yield { path: "errors", message: `There is no error code '${code}'.` };
  }
  for (const issue of deprecation === undefined ? [] : findDeprecationIssues(deprecation))
    yield { path: `deprecation.${issue.path}`, message: issue.message };
}

function* findDuplicates({ id, method, path }: Operation, earlier: readonly Operation[]): Iterable<Issue> {
  if (earlier.some((other) => other.id === id))
    yield { path: "id", message: `Another operation is named ${id} too. Rename one.` };
  const shape = (each: string) => each.replaceAll(/\{\w+\}/g, "{}");
  if (earlier.some((other) => other.method === method && shape(other.path) === shape(path)))
    yield { path: "path", message: `Another operation has ${method} ${path} too. Change one.` };
}

/** The names of the parameters in a path, in order. */
function parameterNames(path: string): readonly string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
}

function withOrderedParameters(operation: Operation): Operation {
  const { parameters } = operation;
  if (parameters === undefined) return operation;
  const ordered = parameterNames(operation.path).flatMap((name) => {
    const parameter = parameters[name];
    return parameter === undefined ? [] : [[name, parameter] as const];
  });
  return { ...operation, parameters: Object.fromEntries(ordered) };
}
