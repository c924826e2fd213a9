/**
 * The HTTP service as one function from `Request` to `Response`, for any Web-standard runtime.
 *
 * ```ts
 * const handler = createHandler({ store: createMemoryStore() });
 * const response = await handler(new Request("http://localhost/v1/store/orders"));
 * ```
 */
import { DEFAULT_BAN_POLICY } from "../accounts/admission.ts";
import { withRejectionCache } from "../accounts/rejection-cache.ts";
import { validatePlans } from "../accounts/validate-plan.ts";
import { systemClock } from "../clock.ts";
import type { ErrorCode } from "../errors.ts";
import { logHookError, startHook } from "../hooks.ts";
import { announceEvent } from "../orders/transition-hook.ts";
import { type Access, createAccessControl } from "./access.ts";
import { createBasePath } from "./base-path.ts";
import { createCors } from "./cors.ts";
import { withDocsUrl } from "./deprecation.ts";
import type { Handler, HandlerOptions, RequestContext } from "./handler-options.ts";
import { createHealthChecks } from "./health.ts";
import { createHostRouter, hostOf } from "./host-router.ts";
import { createServedDocument } from "./openapi/served-document.ts";
import { withOrderedParameters } from "./operation-call.ts";
import { createOperationHandlers } from "./operation-handlers.ts";
import { OPERATIONS, type Operation } from "./operations.ts";
import type { StreamEnd } from "./order-stream.ts";
import { createPerformer } from "./perform-operation.ts";
import { type PlainResponse, type RequestHead, toResponse } from "./plain-response.ts";
import type { DocumentSource } from "./reply.ts";
import { toEvent } from "./request-event.ts";
import { failureReply, type Outcome, toPlainResponse } from "./response.ts";
import { createRouter, isImplemented } from "./router.ts";
import { storeWork } from "./store-work.ts";
import { parsePath, targetOf } from "./target.ts";
import { validateOperations } from "./validate-operations.ts";

/** Creates the service over a store. */
export function createHandler(options: HandlerOptions): Handler {
  const { store, clock = systemClock, banPolicy = DEFAULT_BAN_POLICY } = options;
  validateOperations(options.operations ?? OPERATIONS);
  const operations = withDocsUrl<Operation>(options.operations ?? OPERATIONS, options.docsUrl).map(
    withOrderedParameters,
  );
  const { pets = async () => undefined, servers = [], onRequest } = options;
  const { cacheRejections = true } = options;
  const accounts = cacheRejections ? withRejectionCache(store.accounts) : store.accounts;
  const { plans } = options;
  if (plans !== undefined) validatePlans(plans);
  const access = createAccessControl(accounts, clock, {
    ...banPolicy,
    ...(plans === undefined ? {} : { plans }),
  });
  const { onTransition, onHookError = logHookError } = options;
  const listener = onTransition && { onTransition, onHookError };
  const handlers = createOperationHandlers(store.orders, clock, pets);
  const performOperation = createPerformer(operations, handlers, clock);
  const findRoute = createRouter(operations);
  const routeHost = createHostRouter(options.hosts);
  const { basePath = "" } = options;
  const toInnerPath = createBasePath(basePath);
  const publicUrl = ({ origin }: RequestContext) => origin && `${origin}${basePath}`;
  const cors = options.corsOrigins && createCors(options.corsOrigins, operations);
  const openApi = createServedDocument({ operations, plans }, servers);
  const healthChecks = createHealthChecks(store.orders, clock);

  /** Finds the reply. Replies that need no key come first. Then the request is admitted, and its operation performed. */
  async function decide(request: RequestHead, context: RequestContext, requestId: string): Promise<Outcome> {
    const { address = "unknown", host = hostOf(request), malformed } = context;
    const reject = (error: ErrorCode): Outcome => ({ access: access.peek(address), reply: { error } });
    if (malformed !== undefined) return reject(malformed);
    if (!isImplemented(request.method)) return reject("not_implemented");
    const { target = targetOf(request.url) } = context;
    const fullPath = parsePath(target);
    if (fullPath === undefined) return reject("bad_request");
    const path = toInnerPath(fullPath);
    const { method } = request;
    const isRead = method === "GET" || method === "HEAD";
    const healthCheck = isRead ? healthChecks.get(path) : undefined;
    const hostReply = routeHost(host, target);
    // A load balancer probes by IP address, so a host that is not configured gets a health check instead of a 421.
    if (hostReply !== undefined && (healthCheck === undefined || hostReply.error === undefined))
      return { reply: hostReply };
    if (healthCheck !== undefined) return healthCheck();
    const preflightReply = cors?.preflight(request);
    if (preflightReply !== undefined) return { reply: preflightReply };
    if (isRead) {
      if (path === "/openapi.json") return { reply: await openApi(request, publicUrl(context)) };
      const document = options.documents && (await documentAt(options.documents, path, request));
      if (document !== undefined) return document;
    }

    const route = findRoute(method, path);
    const matched = route.error === undefined ? { operation: route.operation } : {};
    let granted: Access | undefined;
    try {
      const perform = () => performOperation(route, { request, requestId, caller: granted?.caller });
      const work = storeWork(route, perform);
      granted = await access.check(request.headers.get("authorization"), address, work);
      const reply = granted.denied ?? (await (work?.reply() ?? perform()));
      // The change is durable by now, and so is the count of the request.
      if (reply.error === undefined && reply.change !== undefined)
        await announceEvent(listener, reply.change.event, reply.change.order, requestId);
      return { ...matched, access: granted, reply };
    } catch (thrown) {
      return { ...matched, access: granted ?? access.peek(address), reply: failureReply(thrown), thrown };
    }
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

async function documentAt(
  documents: DocumentSource,
  path: string,
  request: RequestHead,
): Promise<Outcome | undefined> {
  try {
    const reply = await documents(path, request);
    return reply && { reply };
  } catch (thrown) {
    return { reply: failureReply(thrown), thrown };
  }
}

/** An identifier from elsewhere must fit into a header and a line of a log. */
function isRequestId(text: string | undefined): text is string {
  return text !== undefined && /^[\x21-\x7e]{1,200}$/.test(text);
}
