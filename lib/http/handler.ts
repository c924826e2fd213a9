/**
 * The HTTP service as one function from `Request` to `Response`, for any Web-standard runtime.
 *
 * ```ts
 * const handler = createHandler({ store: createMemoryStore() });
 * const response = await handler(new Request("http://localhost/v1/store/orders"));
 * ```
 */
import type { AccountStore } from "../accounts/account-store.ts";
import { type BanPolicy, DEFAULT_BAN_POLICY } from "../accounts/admission.ts";
import { withRejectionCache } from "../accounts/rejection-cache.ts";
import { type Clock, systemClock } from "../clock.ts";
import type { HostTable } from "../domains/routing.ts";
import type { ErrorCode } from "../errors.ts";
import type { OrderStore } from "../orders/order-store.ts";
import { type Access, createAccessControl } from "./access.ts";
import { cachedDocument } from "./cached-document.ts";
import { isSunset, withDocsUrl } from "./deprecation.ts";
import { createHostRouter, hostOf } from "./host-router.ts";
import { openApiDocument, type Server } from "./openapi/document.ts";
import { createOperationHandlers, type PetSource } from "./operation-handlers.ts";
import { BASE_PATH, OPERATIONS, type Operation, type OperationId } from "./operations.ts";
import type { StreamEnd } from "./order-stream.ts";
import type { PageSource, Reply } from "./reply.ts";
import { type RequestEvent, toEvent } from "./request-event.ts";
import { failureReply, type Outcome, type ResponseClass, toResponse } from "./response.ts";
import { createRouter, isImplemented, type Route } from "./router.ts";
import { parsePath, targetOf } from "./target.ts";

/** Options of a handler. Everything but the store has a default. */
export interface HandlerOptions {
  readonly store: { readonly orders: OrderStore; readonly accounts: AccountStore };
  /** @default the system clock */
  readonly clock?: Clock;
  /** @default more than 20 rejected requests in a minute ban a key for 15 minutes */
  readonly banPolicy?: BanPolicy;
  /**
   * Caches each rejection for up to a second, so that a flood of rejected requests costs the store one call a second
   * per key. An unban or a better plan then takes effect within a second. @default true
   */
  readonly cacheRejections?: boolean;
  /** @default no pets */
  readonly pets?: PetSource;
  /** @default OPERATIONS */
  readonly operations?: readonly Operation[];
  /** Servers for the OpenAPI document, in addition to this one. @default none */
  readonly servers?: readonly Server[];
  /** The documentation of deprecated operations that have no link of their own. @default the OpenAPI document */
  readonly docsUrl?: string;
  /** Returns the current custom domains. Called for each request. @default every host is served */
  readonly hosts?: () => HostTable;
  /** The class to create responses with, such as the faster `NodeResponse` of `store-orders/node`. @default Response */
  readonly Response?: ResponseClass;
  /** Documents to serve beside the API, such as `docsPage()`. @default none */
  readonly pages?: PageSource;
  /** Called once for each finished request. Errors that it throws are ignored. */
  readonly onRequest?: (event: RequestEvent) => void;
}

/** What a runtime knows about a request in addition to its content. */
export interface RequestContext {
  /** The IP address of the caller. Without it, all unauthenticated callers share one limit. */
  readonly address?: string;
  /**
   * The raw request target: path and query as received. Without it the target is read from the URL of the request, in
   * which the platform has already resolved dot segments and backslashes.
   */
  readonly target?: string;
  /** The requested host, if the runtime knows it better than the `Host` header. */
  readonly host?: string;
  /** @default a random UUID */
  readonly requestId?: string;
  /** The error to respond with, if the server received an invalid request. */
  readonly malformed?: ErrorCode;
}

/** Handles a request. Never rejects. */
export type Handler = (request: Request, context?: RequestContext) => Promise<Response>;

/** Creates the service over a store. */
export function createHandler(options: HandlerOptions): Handler {
  const { store, clock = systemClock, banPolicy = DEFAULT_BAN_POLICY } = options;
  const operations = withDocsUrl<Operation>(options.operations ?? OPERATIONS, options.docsUrl);
  const { pets = async () => undefined, servers = [], onRequest = () => {} } = options;
  const { cacheRejections = true } = options;
  const accounts = cacheRejections ? withRejectionCache(store.accounts) : store.accounts;
  const access = createAccessControl(accounts, clock, banPolicy);
  const handlers = createOperationHandlers(store.orders, clock, pets);
  const findRoute = createRouter(operations);
  const routeHost = createHostRouter(options.hosts);
  const document = openApiDocument({ operations, servers: [THIS_SERVER, ...servers] });
  const openApi = cachedDocument(JSON.stringify(document));

  async function decide(request: Request, context: RequestContext): Promise<Outcome> {
    const { address = "unknown", host = hostOf(request), malformed } = context;
    const reject = (error: ErrorCode): Outcome => ({ access: access.peek(address), reply: { error } });
    if (malformed !== undefined) return reject(malformed);
    if (!isImplemented(request.method)) return reject("not_implemented");
    const { target = targetOf(request.url) } = context;
    const path = parsePath(target);
    if (path === undefined) return reject("bad_request");
    const hostReply = routeHost(host, target);
    if (hostReply !== undefined) return { reply: hostReply };
    const { method } = request;
    if (method === "GET" || method === "HEAD") {
      if (path === "/openapi.json") return { reply: await openApi(request) };
      const page = options.pages && (await pageAt(options.pages, path, request));
      if (page !== undefined) return page;
    }

    const route = findRoute(method, path);
    const matched = route.error === undefined ? { operation: route.operation } : {};
    let granted: Access | undefined;
    try {
      granted = await access.check(request.headers.get("authorization"), address);
      const reply = granted.denied ?? (await perform(route, request));
      return { ...matched, access: granted, reply };
    } catch (thrown) {
      return { ...matched, access: granted ?? access.peek(address), reply: failureReply(thrown), thrown };
    }
  }

  async function perform(route: Route, request: Request): Promise<Reply> {
    if (route.error !== undefined) return route;
    const { deprecation, id } = route.operation;
    if (deprecation !== undefined && isSunset(deprecation, clock())) return { error: "operation_sunset" };
    return handlers[id as OperationId]({ request, parameter: route.parameter });
  }

  return async function handle(request, context = {}) {
    const startedAt = performance.now();
    const { requestId = crypto.randomUUID() } = context;
    const outcome = await decide(request, context);
    const emit = (end: StreamEnd) => {
      try {
        onRequest(toEvent(outcome, end, { requestId, method: request.method, startedAt }));
      } catch {
        // A failing observer must not fail the request.
      }
    };
    const ended = outcome.reply.error === undefined ? outcome.reply.ended : undefined;
    if (ended === undefined) emit({ status: "complete" });
    else void ended.then(emit);
    return toResponse(outcome, requestId, request.method === "HEAD", options.Response);
  };
}

async function pageAt(pages: PageSource, path: string, request: Request): Promise<Outcome | undefined> {
  try {
    const reply = await pages(path, request);
    return reply && { reply };
  } catch (thrown) {
    return { reply: failureReply(thrown), thrown };
  }
}

/** Relative to the document, so that it is right on every host and below every path. */
const THIS_SERVER: Server = { url: `.${BASE_PATH}`, description: "This server" };
