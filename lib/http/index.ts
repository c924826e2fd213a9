/**
 * The HTTP service: one function from `Request` to `Response` over a store, for any Web-standard runtime.
 *
 * ```ts
 * const handler = createHandler({ store: createMemoryStore() });
 * const response = await handler(new Request("http://localhost/v1/store/orders"));
 * ```
 *
 * @module store-orders/http
 */

export {
  ERRORS,
  type ErrorBody,
  type ErrorCode,
  InvalidInputError,
  isInvalidInput,
  isStoreUnavailable,
} from "../errors.ts";
export type { HookErrorReporter } from "../hooks.ts";
export type { OrderTransition, TransitionHook } from "../orders/transition-hook.ts";
export { type CustomOperation, defineOperation, type OperationDefinition } from "./custom-operation.ts";
export type { Deprecation } from "./deprecation.ts";
export { createHandler } from "./handler.ts";
export type { Handler, HandlerOptions, RequestContext } from "./handler-options.ts";
export { openApiDocument, type Server } from "./openapi/document.ts";
export type { OperationCall } from "./operation-call.ts";
export type { PetSource } from "./operation-handlers.ts";
export {
  OPERATIONS,
  type Operation,
  type OperationId,
  type OperationParameter,
  type ServiceOperation,
} from "./operations.ts";
export type { PlainResponse, RequestHead } from "./plain-response.ts";
export { type DocumentSource, type Reply, rateLimitHeaders } from "./reply.ts";
export type { RequestEvent, RequestSource } from "./request-event.ts";
