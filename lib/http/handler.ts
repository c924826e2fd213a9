/**
 * The HTTP service as one function from `Request` to `Response`, for any Web-standard runtime.
 *
 * ```ts
 * const handler = createHandler({ store: createMemoryStore() });
 * const response = await handler(new Request("http://localhost/v1/store/orders"));
 * ```
 */
import { systemClock } from "../clock.ts";
import type { ErrorCode } from "../errors.ts";
import { logHookError, startHook } from "../hooks.ts";
import { createAccessControl } from "./access.ts";
import { createApi } from "./api-replies.ts";
import { createBasePath } from "./base-path.ts";
import { createCors } from "./cors.ts";
import type { Handler, HandlerOptions, RequestContext } from "./handler-options.ts";
import type { StreamEnd } from "./order-stream.ts";
import { type PlainResponse, type RequestHead, toResponse } from "./plain-response.ts";
import { createPublicReplies } from "./public-replies.ts";
import { toEvent } from "./request-event.ts";
import { type Outcome, toPlainResponse } from "./response.ts";
import { isImplemented } from "./router.ts";
import { servedOperations } from "./served-operations.ts";
import { parsePath, targetOf } from "./target.ts";

/** Creates the service over a store. */
export function createHandler(options: HandlerOptions): Handler {
  const { clock = systemClock, basePath = "", onRequest, onHookError = logHookError } = options;
  const operations = servedOperations(options);
  const access = createAccessControl(options, clock);
  const cors = options.corsOrigins && createCors(options.corsOrigins, operations);
  const toInnerPath = createBasePath(basePath);
  const publicReply = createPublicReplies(options, { operations, cors, clock });
  const api = createApi(options, { operations, access, clock });

  /** Finds the reply: a rejection of the request itself, a public reply, or the API's. */
  async function decide(request: RequestHead, context: RequestContext, requestId: string): Promise<Outcome> {
    const { address = "unknown", malformed } = context;
    const reject = (error: ErrorCode): Outcome => ({ access: access.peek(address), reply: { error } });
    if (malformed !== undefined) return reject(malformed);
    if (!isImplemented(request.method)) return reject("not_implemented");
    const { target = targetOf(request.url) } = context;
    const fullPath = parsePath(target);
    if (fullPath === undefined) return reject("bad_request");
    const path = toInnerPath(fullPath);
    const outcome = publicReply({ request, context, target, path });
    // Most requests are for the API: only a document has to be waited for.
    const found = outcome instanceof Promise ? await outcome : outcome;
    return found ?? api({ request, path, address, requestId });
  }

  /** Responds to a request, and reports it once its body has ended. */
  async function respond(request: RequestHead, context: RequestContext = {}): Promise<PlainResponse> {
    const requestId = isRequestId(context.requestId) ? context.requestId : crypto.randomUUID();
    const startedAt = onRequest && performance.now();
    const outcome = await decide(request, context, requestId);
    const response = toPlainResponse(outcome, requestId, request.method === "HEAD");
    cors?.addHeaders(response.headers, request);
    if (onRequest === undefined || startedAt === undefined) return response;
    const emit = (end: StreamEnd) => {
      const { address } = context;
      const event = toEvent(outcome, end, { request, context, requestId, startedAt });
      startHook("onRequest", () => onRequest(event, address === undefined ? {} : { address }), onHookError);
    };
    const ended = outcome.reply.error === undefined ? outcome.reply.ended : undefined;
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
