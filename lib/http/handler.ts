import { invalidInput, isStoreUnavailable } from "../core/errors.ts";
import { logHookError, reportSafely, startHook } from "../core/hooks.ts";
import { systemClock, wholeClock } from "../core/time.ts";
import { announce } from "../orders/transition-hook.ts";
import type { Quota } from "../plans/windows.ts";
import { type Access, createAccessControl, UNKNOWN_ADDRESS } from "./access.ts";
import { BODY_METHODS, skipBody } from "./body.ts";
import { createCors } from "./cors.ts";
import { completeOperations } from "./custom-operations.ts";
import { isLink, LINK_RULE } from "./deprecation.ts";
import { ERRORS, type ErrorCode } from "./errors.ts";
import { OPERATIONS } from "./operations.ts";
import { type Handler, type HandlerOptions, validateOptions } from "./options.ts";
import { createBasePathRemover, IMPLEMENTED_METHODS, parsePath, targetOf } from "./path.ts";
import { createPublicReplies } from "./public-replies.ts";
import type { StreamEnd } from "./reply.ts";
import type { RequestContext, RequestHead } from "./request.ts";
import { toEvent } from "./request-event.ts";
import {
  createResponse,
  failureReply,
  type PlainResponse,
  type RequestResult,
  toResponse,
} from "./response.ts";
import { createRouter } from "./routes.ts";

/** Creates the service: `Request` to `Response`. Throws `InvalidInputError` if an option is invalid. */
export function createHandler(options: HandlerOptions): Handler {
  validateOptions(options);
  const { basePath = "", pets = async () => undefined } = options;
  const { onRequest, onTransition, onHookError = logHookError, keys } = options;
  const { docsUrl } = options.openapi ?? {};
  const { orders, accounts } = options.store;
  // Otherwise the store would perform operations on other orders than these, which may be wrapped.
  const performsOwnOrders = accounts.performsOn === orders;
  const clock = wholeClock(options.clock ?? systemClock);
  if (docsUrl !== undefined && !isLink(docsUrl)) throw invalidInput("openapi.docsUrl", LINK_RULE);
  const operations = completeOperations(options.operations ?? OPERATIONS, docsUrl);
  const accessControl = createAccessControl(options, accounts, clock);
  const cors = options.corsOrigins && createCors(options.corsOrigins, operations, keys?.headers);
  const removeBasePath = createBasePathRemover(basePath);
  const publicReply = createPublicReplies(options, { operations, cors, clock });
  const route = createRouter(operations, { orders, pets, clock });
  const listener = onTransition && { onTransition, onHookError };

  async function findReply(
    request: RequestHead,
    context: RequestContext,
    requestId: string,
  ): Promise<RequestResult> {
    const { address = UNKNOWN_ADDRESS, requestError } = context;
    const fail = (error: ErrorCode) => ({ quota: accessControl.peek(address), reply: { error } });
    if (requestError !== undefined) return fail(requestError);
    // Several fields, which Bun joins (RFC 9112, section 3.2).
    if (request.headers.get("host")?.includes(",")) return fail("bad_request");
    // No `Request` can have the method TRACE, but a server receives it.
    if (!IMPLEMENTED_METHODS.has(request.method) && request.method !== "TRACE")
      return fail("not_implemented");
    const { target = targetOf(request.url) } = context;
    const fullPath = parsePath(target);
    if (fullPath === undefined) return fail("bad_request");
    const path = removeBasePath(fullPath);
    const finding = publicReply({ request, context, originalTarget: context.originalTarget ?? target, path });
    // With `documents`, each GET waits for them. Without, most requests are for the API and do not wait.
    const found = finding instanceof Promise ? await finding : finding;
    if (found !== undefined) return found;
    // Others can send again what came before the end of the TLS handshake (RFC 8470, 5.1: any value counts).
    const isRead = request.method === "GET" || request.method === "HEAD";
    if (!isRead && request.headers.get("early-data") !== null) return fail("too_early");
    // Some servers call the handler before the body is complete. An incomplete request has no effect.
    const isIncomplete = request.body && !BODY_METHODS.has(request.method) && (await skipBody(request));
    return isIncomplete ? fail(isIncomplete) : admitAndPerform(request, path, address, requestId);
  }

  /** The operation is found first, because the store may perform it in the transaction that admits the request. */
  async function admitAndPerform(
    request: RequestHead,
    path: string,
    address: string,
    requestId: string,
  ): Promise<RequestResult> {
    const { operation, storeOperation, perform } = route(request, path);
    const matched = operation === undefined ? {} : { operation };
    const inStore = performsOwnOrders && storeOperation ? { ...storeOperation, requestId } : undefined;
    let access: Access | undefined;
    try {
      access = await accessControl.admit(request.headers, address, inStore);
      if (!access.ok) return { ...matched, ...access };
      const { quota, caller, outcome, wouldReject } = access;
      const reply = await perform({ request, requestId, caller }, performsOwnOrders ? outcome : undefined);
      if (listener && reply.error === undefined && reply.change !== undefined)
        await announce(listener, reply.change.event, reply.change.order, requestId);
      return { ...matched, quota, caller, reply, ...(wouldReject && { wouldReject }) };
    } catch (thrown) {
      const { quota, caller } = access ?? { quota: unusedQuota() };
      return { ...matched, quota, ...(caller && { caller }), reply: failureReply(thrown), thrown };
    }
  }

  /** Responds to a request, and reports it once its body has ended. */
  async function respond(request: RequestHead, given?: RequestContext): Promise<PlainResponse> {
    try {
      const context = readContext(given);
      const { address, requestId = crypto.randomUUID() } = context;
      const startedAt = onRequest && performance.now();
      const isHead = request.method === "HEAD";
      const result = await findReply(request, context, requestId).catch((thrown): RequestResult => {
        return { quota: unusedQuota(), reply: failureReply(thrown), thrown };
      });
      const response = createResponse(result, requestId, isHead);
      cors?.addHeaders(response.headers, request);
      if (onRequest === undefined || startedAt === undefined) {
        // Otherwise nobody would learn of a defect.
        if (result.thrown !== undefined && !isStoreUnavailable(result.thrown))
          reportSafely(result.thrown, "handler", onHookError);
        return response;
      }
      const received = { request, context, requestId, startedAt, keyHeaders: keys?.headers };
      const emit = (end: StreamEnd) => {
        const event = toEvent(result, response.status, end, received);
        startHook("onRequest", () => onRequest(event, address === undefined ? {} : { address }), onHookError);
      };
      const ended = result.reply.error === undefined && !isHead ? result.reply.ended : undefined;
      if (ended === undefined) emit({ status: "complete" });
      else
        void Promise.resolve(ended)
          .then(emit, (error) => emit({ status: "failed", error }))
          .catch((error) => reportSafely(error, "handler", onHookError));
      return response;
    } catch (thrown) {
      return internalError(thrown);
    }
  }

  /** The quota of a caller of whom nothing is known. It needs no clock that works. */
  function unusedQuota(): Quota {
    try {
      return accessControl.unusedQuota(clock());
    } catch {
      return accessControl.unusedQuota(systemClock());
    }
  }

  /** The last resort: for what is not a request, and for code of the embedder that throws where nothing can. */
  function internalError(thrown: unknown): PlainResponse {
    reportSafely(thrown, "handler", onHookError);
    const result = { quota: unusedQuota(), reply: { error: "internal_error" } } as const;
    return createResponse(result, crypto.randomUUID(), false);
  }

  async function handle(request: Request, context?: RequestContext): Promise<Response> {
    const response = await respond(request, context);
    try {
      return toResponse(response);
    } catch (thrown) {
      return toResponse(internalError(thrown));
    }
  }

  return Object.assign(handle, { respond });
}

function readContext(given: unknown): RequestContext {
  if (typeof given !== "object" || given === null) return {};
  const { address, target, originalTarget, host, requestId, requestError } = given as RequestContext;
  return {
    address: readString(address),
    target: readString(target),
    originalTarget: readString(originalTarget),
    host: readString(host),
    // The identifier must fit into a header and a line of a log.
    requestId: /^[\x21-\x7e]{1,200}$/.test(readString(requestId) ?? "") ? requestId : undefined,
    requestError: Object.hasOwn(ERRORS, readString(requestError) ?? "") ? requestError : undefined,
  };
}

function readString(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
