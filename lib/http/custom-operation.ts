import type { ErrorCode } from "../errors.ts";
import type { OperationCall, ParameterValues } from "./operation-call.ts";
import type { Operation, OperationParameter } from "./operations.ts";
import type { Reply, SuccessReply } from "./reply.ts";

/** The names in braces in a path: `"orderId"` for `/orders/{orderId}`. */
export type PathParameter<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PathParameter<Rest>
  : never;

/** An operation with its implementation. Create it with `defineOperation`, which checks the types. */
export interface CustomOperation extends Operation {
  /** Called for each admitted request. */
  readonly handle: (call: OperationCall) => Promise<Reply>;
}

/** What `defineOperation` takes: the operation as data, and its implementation. */
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
