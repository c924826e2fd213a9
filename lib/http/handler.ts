/**
 * The HTTP service as one function from `Request` to `Response`. It knows no framework and no platform.
 *
 * ```ts
 * const handler = createHandler({ store: createMemoryStore() });
 * const response = await handler(new Request("http://localhost/v1/store/orders"));
 * ```
 */
import { randomUUID } from "node:crypto";
import type { AccountStore } from "../accounts/account-store.ts";
import { type BanPolicy, DEFAULT_BAN_POLICY } from "../accounts/admission.ts";
import { type Clock, systemClock } from "../clock.ts";
import type { HostTable } from "../domains/routing.ts";
import type { ErrorCode } from "../errors.ts";
import type { OrderStore } from "../orders/order-store.ts";
import { createAccessControl } from "./access.ts";
import { isSunset } from "./deprecation.ts";
import { createHostRouter, hostOf } from "./host-router.ts";
import { openApiDocument, SERVERS, type Server } from "./openapi/document.ts";
import { createOperationHandlers, type PetSource } from "./operation-handlers.ts";
import { BASE_PATH, OPERATIONS, type Operation, type OperationId } from "./operations.ts";
import type { StreamEnd } from "./order-stream.ts";
import type { PageSource, RateLimitStatus, Reply } from "./reply.ts";
import { type RequestEvent, toEvent } from "./request-event.ts";
import { failure, type Outcome, type ResponseClass, toResponse } from "./response.ts";
import { createRouter, pathOf, type Route, targetOf } from "./router.ts";

/** What a handler is made of. Everything but the store has a default. */
export interface HandlerOptions {
  readonly store: { readonly orders: OrderStore; readonly accounts: AccountStore };
  /** @default the machine's clock */
  readonly clock?: Clock;
  /** @default 15 minutes after more than 20 refused requests in a minute */
  readonly banPolicy?: BanPolicy;
  /** @default no pets */
  readonly pets?: PetSource;
  /** @default OPERATIONS */
  readonly operations?: readonly Operation[];
  /** Addresses for the OpenAPI document, besides the one that it is read from. @default SERVERS */
  readonly servers?: readonly Server[];
  /** The custom domains as they are now; asked on each request. @default every host is served */
  readonly hosts?: () => HostTable;
  /** The class that answers are made of; a runtime may bring one that costs less. @default Response */
  readonly Response?: ResponseClass;
  /** Documents to serve beside the API, such as `docsPage()`. @default none */
  readonly pages?: PageSource;
  /** Called once for each request when it is over. What it throws is ignored. */
  readonly onRequest?: (event: RequestEvent) => void;
}

/** What a runtime knows of a request besides what it says itself. */
export interface RequestContext {
  /** The network address of the caller. */
  readonly address?: string;
  /** The host that was asked for, where the runtime knows it better than the `Host` header. */
  readonly host?: string;
  /** @default a random UUID */
  readonly requestId?: string;
  /** Set where what arrived could not be made a request of: it is answered with this error. */
  readonly malformed?: ErrorCode;
}

/** Answers a request. Never rejects. */
export type Handler = (request: Request, context?: RequestContext) => Promise<Response>;

/** Makes the service over a store. */
export function createHandler(options: HandlerOptions): Handler {
  const { store, clock = systemClock, banPolicy = DEFAULT_BAN_POLICY, operations = OPERATIONS } = options;
  const { pets = async () => undefined, servers = SERVERS, onRequest = () => {} } = options;
  const gate = createAccessControl(store.accounts, clock, banPolicy);
  const implementations = createOperationHandlers(store.orders, clock, pets);
  const routeTo = createRouter(operations);
  const hosts = createHostRouter(options.hosts);
  const document = JSON.stringify(openApiDocument({ operations, servers: [THIS_SERVER, ...servers] }));

  async function decide(request: Request, context: RequestContext): Promise<Outcome> {
    const { address = "unknown", host = hostOf(request), malformed } = context;
    if (malformed !== undefined) return { standing: gate.anonymous(address), answer: { error: malformed } };
    const elsewhere = hosts(host, targetOf(request.url));
    if (elsewhere !== undefined) return { answer: elsewhere };
    const { method } = request;
    const path = pathOf(request.url);
    if (method === "GET" || method === "HEAD") {
      if (path === "/openapi.json") return { answer: { status: 200, body: document } };
      const page = options.pages === undefined ? undefined : await pageAt(options.pages, path, request);
      if (page !== undefined) return page;
    }

    const route = routeTo(method, path);
    const meant = "operation" in route ? { operation: route.operation } : {};
    let standing: RateLimitStatus | undefined;
    try {
      const passage = await gate.admit(request.headers.get("authorization"), address);
      standing = passage.standing;
      return { ...meant, standing, answer: passage.refused ?? (await perform(route, request)) };
    } catch (thrown) {
      return { ...meant, standing: standing ?? gate.anonymous(address), answer: failure(thrown), thrown };
    }
  }

  async function perform(route: Route, request: Request): Promise<Reply> {
    if ("error" in route) return route;
    const { deprecation, id } = route.operation;
    if (deprecation !== undefined && isSunset(deprecation, clock())) return { error: "operation_sunset" };
    return implementations[id as OperationId]({ argument: route.argument, request });
  }

  return async function handle(request, context = {}) {
    const began = performance.now();
    const { requestId = randomUUID() } = context;
    const outcome = await decide(request, context);
    const tell = (ending: StreamEnd) => {
      try {
        onRequest(toEvent(outcome, ending, { requestId, method: request.method, began }));
      } catch {
        // An observer that fails must not fail the request.
      }
    };
    const ended = "ended" in outcome.answer ? outcome.answer.ended : undefined;
    if (ended === undefined) tell({ status: "complete" });
    else void ended.then(tell);
    return toResponse(outcome, requestId, request.method === "HEAD", options.Response);
  };
}

async function pageAt(pages: PageSource, path: string, request: Request): Promise<Outcome | undefined> {
  try {
    const answer = await pages(path, request);
    return answer && { answer };
  } catch (thrown) {
    return { answer: failure(thrown), thrown };
  }
}

const THIS_SERVER: Server = { url: BASE_PATH, description: "This server" };
