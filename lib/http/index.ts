/**
 * The HTTP service: one function from `Request` to `Response` over a store.
 *
 * @module store-orders/http
 */

export type { Deprecation } from "./deprecation.ts";
export { createHandler } from "./handler.ts";
export type { Handler, HandlerOptions, RequestContext } from "./handler-options.ts";
export { openApiDocument, type Server } from "./openapi/document.ts";
export type { PetSource } from "./operation-handlers.ts";
export { OPERATIONS, type Operation, type OperationId } from "./operations.ts";
export type { PlainResponse, RequestHead } from "./plain-response.ts";
export { type DocumentSource, type Reply, rateLimitHeaders } from "./reply.ts";
export type { RequestEvent, RequestSource } from "./request-event.ts";
