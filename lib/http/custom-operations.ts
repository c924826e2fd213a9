import { InvalidInputError, type Issue } from "../core/errors.ts";
import { findDeprecationIssues } from "./deprecation.ts";
import { ERRORS, type ErrorCode } from "./errors.ts";
import {
  type Implementation,
  OPERATIONS,
  type Operation,
  type OperationCall,
  type OperationParameter,
  type ParameterValues,
} from "./operations.ts";
import type { Reply, SuccessReply } from "./response.ts";

/** An operation with its implementation. Create it with `defineOperation`, which checks the types. */
export interface CustomOperation extends Operation {
  /** Called for each admitted request. */
  readonly handle: Implementation;
}

/** The names in braces in a path: `"orderId"` for `/orders/{orderId}`. */
type PathParameter<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PathParameter<Rest>
  : never;

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
const METHODS: ReadonlySet<string> = new Set(["GET", "POST", "PUT", "PATCH", "DELETE"]);
const IMPLEMENTED: ReadonlySet<string> = new Set(OPERATIONS.map(({ id }) => id));

/** Returns the operations with their parameters in order. Throws `InvalidInputError` with every issue. */
export function validateOperations(operations: readonly Operation[]): readonly Operation[] {
  const issues = operations.flatMap((operation, index) => {
    // Untyped callers can pass anything.
    const found = [
      ...findIssues(Object(operation)),
      ...findDuplicates(operation, operations.slice(0, index)),
    ];
    return found.map(({ path, message }): Issue => ({ path: `operations[${index}].${path}`, message }));
  });
  if (issues.length > 0) throw new InvalidInputError(issues);
  return operations.map((operation) => {
    const { path, parameters = {} } = operation;
    const ordered = parameterNames(path).map((name) => [name, parameters[name]]);
    return ordered.length === 0 ? operation : { ...operation, parameters: Object.fromEntries(ordered) };
  });
}

function* findIssues(operation: Partial<CustomOperation>): Iterable<Issue> {
  const { id = "", method = "", path = "", success, errors, handle, deprecation } = operation;
  if (typeof handle !== "function" && !(handle === undefined && IMPLEMENTED.has(id)))
    yield { path: "handle", message: `The operation ${id} has no implementation. Add a function 'handle'.` };
  if (!METHODS.has(method)) yield { path: "method", message: `Use one of: ${[...METHODS].join(", ")}.` };
  if (!PATH.test(path))
    yield {
      path: "path",
      message: "Use a path such as /store/orders/{orderId}, without a slash at the end.",
    };
  const names = parameterNames(path);
  const parameters: Readonly<Record<string, unknown>> = Object(operation.parameters);
  for (const name of new Set([...names, ...Object.keys(parameters)])) {
    if (typeof Object(parameters[name]).description !== "string")
      yield { path: `parameters.${name}`, message: "Describe this parameter of the path." };
    if (!names.includes(name))
      yield { path: `parameters.${name}`, message: `The path has no {${name}}. Add it there, or remove it.` };
  }
  if (!Number.isInteger(success?.status))
    yield { path: "success", message: "Describe the success: its status and a description." };
  for (const code of Array.isArray(errors) ? errors : [errors])
    if (!Object.hasOwn(ERRORS, `${code}`))
      yield { path: "errors", message: `There is no error code '${code}'.` };
  for (const issue of deprecation === undefined ? [] : findDeprecationIssues(Object(deprecation)))
    yield { path: `deprecation.${issue.path}`, message: issue.message };
}

function* findDuplicates(operation: Operation, earlier: readonly Operation[]): Iterable<Issue> {
  const { id, method, path } = operation ?? {};
  const shape = (each: Operation) => `${each?.method} ${each?.path}`.replaceAll(/\{\w+\}/g, "{}");
  if (earlier.some((other) => other?.id === id))
    yield { path: "id", message: `Another operation is named ${id} too. Rename one.` };
  if (earlier.some((other) => shape(other) === shape(operation)))
    yield { path: "path", message: `Another operation has ${method} ${path} too. Change one.` };
}

/** The names of the parameters in a path, in order. */
function parameterNames(path: string): readonly string[] {
  return [...`${path}`.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
}

/** Returns the reply of a custom operation. Throws if the runtime could not send it, so that the caller gets a 500. */
export function checkReply(reply: Reply): Reply {
  const problem = findReplyProblem(Object(reply));
  if (problem !== undefined) throw new TypeError(problem);
  return reply;
}

function findReplyProblem(reply: Reply): string | undefined {
  if (reply.error !== undefined) {
    if (!Object.hasOwn(ERRORS, reply.error))
      return `There is no error code '${reply.error}'. Return a code of ERRORS.`;
  } else {
    const { status, body } = reply;
    if (!STATUSES.has(status))
      return `The status ${status} cannot be sent. Use one of: ${[...STATUSES].join(", ")}.`;
    if (body !== undefined && status === 204)
      return "A response with status 204 has no body. Leave it out, or use 200.";
    if (body !== undefined && !isBody(body))
      return "A body is a string, a Uint8Array or a ReadableStream. Convert any other value with JSON.stringify().";
  }
  const wrong = Object.entries(reply.headers ?? {}).find(
    ([name, value]) => !HEADER_NAME.test(name) || !HEADER_VALUE.test(value),
  );
  return (
    wrong && `The header ${JSON.stringify(wrong[0])} cannot be sent. Encode its name and value as ASCII.`
  );
}

function isBody(body: unknown): boolean {
  if (typeof body === "string" || body instanceof Uint8Array) return true;
  const { getReader, read } = Object(body);
  return typeof getReader === "function" || typeof read === "function";
}

const STATUSES: ReadonlySet<number> = new Set([200, 201, 202, 204, 301, 302]);

/** RFC 9110, section 5. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/i;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
