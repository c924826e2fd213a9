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
import { BAN_POLICY, type BanPolicy } from "../accounts/admission.ts";
import { type Clock, systemClock } from "../clock.ts";
import { ERRORS, type ErrorCode, StoreUnavailableError } from "../errors.ts";
import type { OrderStore } from "../orders/order-store.ts";
import { type Answer, errorJson, type HeaderFields, quotaFields, type Standing } from "./answer.ts";
import { deprecationFields, isSunset } from "./deprecation.ts";
import { createGate } from "./gate.ts";
import { createImplementations, type PetSource } from "./implementations.ts";
import { openApiDocument, SERVERS, type Server } from "./openapi.ts";
import { BASE_PATH, OPERATIONS, type Operation, type OperationId } from "./operations.ts";
import type { Ending } from "./order-stream.ts";
import { type RequestEvent, toEvent } from "./request-event.ts";
import { createRouter, pathOf, type Route } from "./router.ts";

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
  /** Called once for each request when it is over. What it throws is ignored. */
  readonly onRequest?: (event: RequestEvent) => void;
}

/** What a runtime knows of a request besides what it says itself. */
export interface RequestContext {
  /** The network address of the caller. */
  readonly address?: string;
  /** @default a random UUID */
  readonly requestId?: string;
  /** Set where what arrived could not be made a request of: it is answered with this error. */
  readonly malformed?: ErrorCode;
}

/** Answers a request. Never rejects. */
export type Handler = (request: Request, context?: RequestContext) => Promise<Response>;

/** Makes the service over a store. */
export function createHandler(options: HandlerOptions): Handler {
  const { store, clock = systemClock, banPolicy = BAN_POLICY, operations = OPERATIONS } = options;
  const { pets = async () => undefined, servers = SERVERS, onRequest = () => {} } = options;
  const gate = createGate(store.accounts, clock, banPolicy);
  const implementations = createImplementations(store.orders, clock, pets);
  const routeTo = createRouter(operations);
  const document = JSON.stringify(openApiDocument({ operations, servers: [THIS_SERVER, ...servers] }));

  async function decide(request: Request, route: Route, address: string): Promise<Outcome> {
    let standing: Standing | undefined;
    try {
      const passage = await gate.admit(request.headers.get("authorization"), address);
      standing = passage.standing;
      if (passage.refused !== undefined) return { standing, answer: passage.refused };
      if ("error" in route) return { standing, answer: route };
      const { deprecation, id } = route.operation;
      if (deprecation !== undefined && isSunset(deprecation, clock())) {
        return { standing, answer: { error: "operation_sunset" } };
      }
      return {
        standing,
        answer: await implementations[id as OperationId]({ argument: route.argument, request }),
      };
    } catch (thrown) {
      return { standing: standing ?? gate.anonymous(address), answer: failure(thrown), thrown };
    }
  }

  return async function handle(request, { address = "unknown", requestId = randomUUID(), malformed } = {}) {
    const began = performance.now();
    const { method } = request;
    const path = pathOf(request.url);
    if (path === "/openapi.json" && (method === "GET" || method === "HEAD")) {
      return new Response(method === "HEAD" ? null : document, { headers: JSON_FIELDS });
    }

    const route = routeTo(method, path);
    const outcome =
      malformed === undefined
        ? await decide(request, route, address)
        : { standing: gate.anonymous(address), answer: { error: malformed } };
    const operation = "operation" in route ? route.operation : undefined;
    const response = toResponse(outcome, requestId, operation, method === "HEAD");
    const tell = (ending: Ending) => {
      try {
        onRequest(toEvent(outcome, ending, { requestId, method, operation, began }));
      } catch {
        // An observer that fails must not fail the request.
      }
    };
    const ended = "ended" in outcome.answer ? outcome.answer.ended : undefined;
    if (ended === undefined) tell({ as: "complete" });
    else void ended.then(tell);
    return response;
  };
}

const THIS_SERVER: Server = { url: BASE_PATH, description: "This server" };
const JSON_FIELDS = { "content-type": "application/json" };
/** How long a client should leave a store alone that did not answer, in seconds. */
const STORE_RETRY_AFTER = "5";

/** What was decided about a request. */
interface Outcome {
  readonly standing: Standing;
  readonly answer: Answer;
  readonly thrown?: unknown;
}

function failure(thrown: unknown): Answer {
  if (!(thrown instanceof StoreUnavailableError)) return { error: "internal_error" };
  return { error: "store_unavailable", headers: { "retry-after": STORE_RETRY_AFTER } };
}

/** The one place that every response of the API passes: no header can be missing from any of them. */
function toResponse(
  { standing, answer }: Outcome,
  requestId: string,
  operation?: Operation,
  head?: boolean,
): Response {
  const status = "error" in answer ? ERRORS[answer.error].status : answer.status;
  const body = "error" in answer ? errorJson(answer.error) : answer.body;
  const headers: HeaderFields = {
    ...(body === undefined ? {} : JSON_FIELDS),
    "cache-control": "no-store",
    "x-request-id": requestId,
    ...quotaFields(standing.quota),
    ...(operation?.deprecation === undefined ? {} : deprecationFields(operation.deprecation)),
    ...("headers" in answer ? answer.headers : {}),
  };
  if (head !== true) return new Response(body ?? null, { status, headers });
  if (body instanceof ReadableStream) void body.cancel();
  return new Response(null, { status, headers });
}
