import { invalidInput } from "../core/errors.ts";
import { logHookError, startHook } from "../core/hooks.ts";
import { systemClock } from "../core/time.ts";
import { announceEvent } from "../orders/transition-hook.ts";
import { type Access, createAccessControl } from "./access.ts";
import { createCors } from "./cors.ts";
import { isLink, LINK_RULE, withDocsUrl } from "./deprecation.ts";
import type { ErrorCode } from "./errors.ts";
import { isImplementedMethod, OPERATIONS, type Operation, validateOperations } from "./operations.ts";
import {
  type Handler,
  type HandlerOptions,
  type RequestContext,
  readContext,
  validateOptions,
} from "./options.ts";
import { createBasePathRemover, parsePath, targetOf } from "./path.ts";
import { createCallPreparer } from "./perform-operation.ts";
import { createPublicReplies } from "./public-replies.ts";
import { toEvent } from "./request-event.ts";
import {
  createResponse,
  failureReply,
  type Outcome,
  type PlainResponse,
  type RequestHead,
  type StreamEnd,
  toResponse,
} from "./response.ts";

/** Callers without an address share one limit. */
const UNKNOWN_ADDRESS = "unknown";

/**
 * Creates the service over a store, as one function from `Request` to `Response`. Throws `InvalidInputError` if an
 * option is invalid.
 */
export function createHandler(options: HandlerOptions): Handler {
  validateOptions(options);
  const { store, clock = systemClock, basePath = "", pets = async () => undefined } = options;
  const { onRequest, onTransition, onHookError = logHookError } = options;
  const operations = servedOperations(options);
  const accessControl = createAccessControl(options, clock);
  const cors = options.corsOrigins && createCors(options.corsOrigins, operations);
  const removeBasePath = createBasePathRemover(basePath);
  const publicReply = createPublicReplies(options, { operations, cors, clock });
  const prepareCall = createCallPreparer(operations, { orders: store.orders, pets, clock });
  const listener = onTransition && { onTransition, onHookError };

  /** Finds the reply: the error of an invalid request, a public reply, or the API's. */
  async function decide(request: RequestHead, context: RequestContext, requestId: string): Promise<Outcome> {
    const { address = UNKNOWN_ADDRESS, requestError } = context;
    const fail = (error: ErrorCode): Outcome => ({
      quota: accessControl.peek(address),
      reply: { error },
    });
    if (requestError !== undefined) return fail(requestError);
    // No `Request` can have the method TRACE, but a server receives it.
    if (!isImplementedMethod(request.method) && request.method !== "TRACE") return fail("not_implemented");
    const { target = targetOf(request.url) } = context;
    const fullPath = parsePath(target);
    if (fullPath === undefined) return fail("bad_request");
    const path = removeBasePath(fullPath);
    const outcome = publicReply({ request, context, target, path });
    // With `documents`, each GET waits for them. Without, most requests are for the API and do not wait.
    const found = outcome instanceof Promise ? await outcome : outcome;
    return found ?? call(request, path, address, requestId);
  }

  /**
   * Admits a request to the API, and then performs its operation. The operation is found first, because the store may
   * perform it in the transaction that admits the request. If there is none, only an admitted caller learns that: any
   * other one gets the reply of the access control.
   */
  async function call(
    request: RequestHead,
    path: string,
    address: string,
    requestId: string,
  ): Promise<Outcome> {
    const { operation, storeOperation, perform } = prepareCall(request.method, path);
    const matched = operation === undefined ? {} : { operation };
    let access: Access | undefined;
    try {
      access = await accessControl.admit(request.headers.get("authorization"), address, storeOperation);
      if (!access.ok) return { ...matched, ...access };
      const { quota, caller, outcome: storeOutcome } = access;
      const reply = await perform({ request, requestId, caller }, storeOutcome);
      // The change is durable by now.
      if (reply.error === undefined && reply.change !== undefined)
        await announceEvent(listener, reply.change.event, reply.change.order, requestId);
      return { ...matched, quota, caller, reply };
    } catch (thrown) {
      const { quota, caller } = access ?? { quota: accessControl.unusedQuota() };
      return { ...matched, quota, ...(caller && { caller }), reply: failureReply(thrown), thrown };
    }
  }

  /** Responds to a request, and reports it once its body has ended. */
  async function answer(request: RequestHead, context: RequestContext): Promise<PlainResponse> {
    const { requestId = crypto.randomUUID() } = context;
    const startedAt = onRequest && performance.now();
    const isHead = request.method === "HEAD";
    const outcome = await decide(request, context, requestId).catch((thrown): Outcome => {
      return { quota: accessControl.unusedQuota(), reply: failureReply(thrown), thrown };
    });
    const response = createResponse(outcome, requestId, isHead);
    cors?.addHeaders(response.headers, request);
    if (onRequest === undefined || startedAt === undefined) return response;
    const emit = (end: StreamEnd) => {
      const { address } = context;
      const event = toEvent(outcome, end, { request, context, requestId, startedAt });
      startHook("onRequest", () => onRequest(event, address === undefined ? {} : { address }), onHookError);
    };
    const ended = outcome.reply.error === undefined && !isHead ? outcome.reply.ended : undefined;
    if (ended === undefined) emit({ status: "complete" });
    else void Promise.resolve(ended).then(emit, (error) => emit({ status: "failed", error }));
    return response;
  }

  /** The last resort, for a request that is none, and for code of the embedder that throws where nothing can. */
  function internalError(thrown: unknown): PlainResponse {
    const rethrow = () => {
      throw thrown;
    };
    startHook("handler", rethrow, onHookError);
    const outcome: Outcome = {
      quota: accessControl.unusedQuota(systemClock()),
      reply: { error: "internal_error" },
    };
    return createResponse(outcome, crypto.randomUUID(), false);
  }

  async function respond(request: RequestHead, context?: RequestContext): Promise<PlainResponse> {
    try {
      return await answer(request, readContext(context));
    } catch (thrown) {
      return internalError(thrown);
    }
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

function servedOperations({ operations = OPERATIONS, docsUrl }: HandlerOptions): readonly Operation[] {
  const valid = validateOperations(operations);
  if (docsUrl !== undefined && !isLink(docsUrl)) throw invalidInput("docsUrl", LINK_RULE);
  return withDocsUrl(valid, docsUrl);
}
