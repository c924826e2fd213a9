/**
 * The HTTP service: one function from `Request` to `Response` over a store.
 *
 * @module store-orders/http
 */
export { type Answer, type PageSource, quotaFields } from "./answer.ts";
export type { Deprecation } from "./deprecation.ts";
export { createHandler, type Handler, type HandlerOptions, type RequestContext } from "./handler.ts";
export type { PetSource } from "./implementations.ts";
export { openApiDocument, SERVERS, type Server } from "./openapi.ts";
export { OPERATIONS, type Operation, type OperationId } from "./operations.ts";
export type { ResponseClass } from "./outcome.ts";
export type { RequestEvent } from "./request-event.ts";
