import { systemClock } from "../clock.ts";
import type { ErrorCode } from "../errors.ts";
import { logHookError, startHook } from "../hooks.ts";
import { createAccessControl } from "./access.ts";
import { createApiReplies } from "./api-replies.ts";
import { createBasePathRemover } from "./base-path.ts";
import { createCors } from "./cors.ts";
import type { Handler, HandlerOptions, RequestContext } from "./handler-options.ts";
import type { StreamEnd } from "./order-stream.ts";
import { type PlainResponse, type RequestHead, toResponse } from "./plain-response.ts";
import { createPublicReplies } from "./public-replies.ts";
import { toEvent } from "./request-event.ts";
import { failureReply, type Outcome, toPlainResponse } from "./response.ts";
import { isImplementedMethod } from "./router.ts";
import { servedOperations } from "./served-operations.ts";
import { parsePath, targetOf } from "./target.ts";

/** Callers without an address share one limit. */
const UNKNOWN_ADDRESS = "unknown";

/**
 * Creates the service over a store, as one function from `Request` to `Response`. Throws `InvalidInputError` if an
 * option is invalid.
 */
export function createHandler(options: HandlerOptions): Handler {
  const { clock = systemClock, basePath = "", onRequest, onHookError = logHookError } = options;
  const operations = servedOperations(options);
  const accessControl = createAccessControl(options, clock);
  const cors = options.corsOrigins && createCors(options.corsOrigins, operations);
  const removeBasePath = createBasePathRemover(basePath);
  const publicReply = createPublicReplies(options, { operations, cors, clock });
  const apiReply = createApiReplies(options, { operations, accessControl, clock });

  /** Finds the reply: the error of an invalid request, a public reply, or the API's. */
  async function decide(request: RequestHead, context: RequestContext, requestId: string): Promise<Outcome> {
    const { address = UNKNOWN_ADDRESS, requestError } = context;
    const fail = (error: ErrorCode): Outcome => ({
      quota: accessControl.peek(address),
      reply: { error },
    });
    if (requestError !== undefined) return fail(requestError);
    if (!isImplementedMethod(request.method)) return fail("not_implemented");
    const { target = targetOf(request.url) } = context;
    const fullPath = parsePath(target);
    if (fullPath === undefined) return fail("bad_request");
    const path = removeBasePath(fullPath);
    const outcome = publicReply({ request, context, target, path });
    // With `documents`, each GET waits for them. Without, most requests are for the API and do not wait.
    const found = outcome instanceof Promise ? await outcome : outcome;
    return found ?? apiReply({ request, path, address, requestId });
  }

  /** Responds to a request, and reports it once its body has ended. */
  async function respond(request: RequestHead, context: RequestContext = {}): Promise<PlainResponse> {
    const requestId = isRequestId(context.requestId) ? context.requestId : crypto.randomUUID();
    const startedAt = onRequest && performance.now();
    const isHead = request.method === "HEAD";
    const outcome = await decide(request, context, requestId).catch((thrown): Outcome => {
      const quota = accessControl.peek(context.address ?? UNKNOWN_ADDRESS);
      return { quota, reply: failureReply(thrown), thrown };
    });
    const response = toPlainResponse(outcome, requestId, isHead);
    cors?.addHeaders(response.headers, request);
    if (onRequest === undefined || startedAt === undefined) return response;
    const emit = (end: StreamEnd) => {
      const { address } = context;
      const event = toEvent(outcome, end, { request, context, requestId, startedAt });
      startHook("onRequest", () => onRequest(event, address === undefined ? {} : { address }), onHookError);
    };
    const ended = outcome.reply.error === undefined && !isHead ? outcome.reply.ended : undefined;
    if (ended === undefined) emit({ status: "complete" });
    else void ended.then(emit);
    return response;
  }

  const handle = async (request: Request, context?: RequestContext) =>
    toResponse(await respond(request, context));
  return Object.assign(handle, { respond });
}

/** An identifier from elsewhere must fit into a header and a line of a log. */
function isRequestId(text: string | undefined): text is string {
  return text !== undefined && /^[\x21-\x7e]{1,200}$/.test(text);
}
