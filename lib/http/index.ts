/**
 * The HTTP service: a function from `Request` to `Response` over a store, for any Web runtime. See lib/http/README.md.
 *
 * @module store-orders/http
 */

export { InvalidInputError, isInvalidInput, isStoreUnavailable } from "../core/errors.ts";
export type { HookErrorReporter } from "../core/hooks.ts";
export type { OrderTransition, TransitionHook } from "../orders/transition-hook.ts";
export type { CustomOperation } from "./custom-operations.ts";
export {
  conflictsOf,
  defineOperation,
  type OperationDefinition,
  type Schema,
  type SchemaResult,
} from "./define-operation.ts";
export type { Deprecation } from "./deprecation.ts";
export { ERRORS, type ErrorBody, type ErrorCode, INPUT_ERRORS } from "./errors.ts";
export { createGate, type Gate, type GateAccess, type GatedRequest, type GateOptions } from "./gate.ts";
export { createHandler } from "./handler.ts";
export type { OpenApiInfo, Server } from "./openapi.ts";
export {
  type Implementation,
  OPERATIONS,
  type Operation,
  type OperationCall,
  type OperationId,
  type OperationParameter,
  type OwnError,
  type PetSource,
  type ServiceOperation,
} from "./operations.ts";
export type { Handler, HandlerOptions, KeySource } from "./options.ts";
export type { DocumentSource, Reply } from "./reply.ts";
export type { RequestContext, RequestHead } from "./request.ts";
export type { ClientInfo, RequestEvent } from "./request-event.ts";
export type { PlainResponse } from "./response.ts";
export { V2_PREVIEW_OPERATIONS } from "./v2-preview.ts";
