import type { AccountStore } from "../accounts/account-store.ts";
import type { BanPolicy } from "../accounts/admission.ts";
import type { Clock } from "../clock.ts";
import type { HostTable } from "../domains/routing.ts";
import type { ErrorCode } from "../errors.ts";
import type { HookErrorReporter } from "../hooks.ts";
import type { OrderStore } from "../orders/order-store.ts";
import type { TransitionHook } from "../orders/transition-hook.ts";
import type { PlanTable } from "../plans/plan-limits.ts";
import type { CustomOperation } from "./custom-operation.ts";
import type { Server } from "./openapi/document.ts";
import type { PetSource } from "./operation-handlers.ts";
import type { ServiceOperation } from "./operations.ts";
import type { PlainResponse, RequestHead } from "./plain-response.ts";
import type { DocumentSource } from "./reply.ts";
import type { RequestEvent, RequestSource } from "./request-event.ts";

/** Options of a handler. Everything but the store has a default. */
export interface HandlerOptions {
  readonly store: { readonly orders: OrderStore; readonly accounts: AccountStore };
  /** Returns the current time. @default the system clock */
  readonly clock?: Clock;
  /** When rejected requests ban a key. @default more than 20 in a minute ban it for 15 minutes */
  readonly banPolicy?: BanPolicy;
  /**
   * The plans that accounts can have, with their limits. A stored account with another plan is rejected with 401. Pass
   * the same to `createAccounts`. @default PLAN_LIMITS
   */
  readonly plans?: PlanTable;
  /**
   * Caches each rejection for up to a second, so that a flood of rejected requests costs the store one call a second
   * per key. An unban or a better plan then takes effect within a second. @default true
   */
  readonly cacheRejections?: boolean;
  /** Reads the pets of the deprecated operation. @default no pets */
  readonly pets?: PetSource;
  /**
   * The operations: any of `OPERATIONS`, with other data if you like, and those that `defineOperation` returns.
   * @default OPERATIONS
   */
  readonly operations?: readonly (ServiceOperation | CustomOperation)[];
  /** Servers for the OpenAPI document, in addition to this one. @default none */
  readonly servers?: readonly Server[];
  /** The documentation of deprecated operations that have no link of their own. @default the OpenAPI document */
  readonly docsUrl?: string;
  /**
   * The path below which everything is served, such as `/shop` for `/shop/v1/…`, `/shop/openapi.json` and the health
   * checks. Leave it out if the framework removes the prefix from the path, as Express does. @default the root
   */
  readonly basePath?: string;
  /**
   * The origins whose web pages may call the API, as browsers send them: `https://shop.example.com`.
   * @default none: browsers allow pages of the same origin only
   */
  readonly corsOrigins?: readonly string[];
  /** Returns the current custom domains. Called for each request. @default every host is served */
  readonly hosts?: () => HostTable;
  /** Documents to serve beside the API, such as `docsPage()`. @default none */
  readonly documents?: DocumentSource;
  /**
   * Called after an order was cancelled, once that is durable, for refunds and stock. The response waits for it: if it
   * takes long, hand the work to a queue. @default none
   */
  readonly onTransition?: TransitionHook;
  /** Called with each error of `onTransition` and `onRequest`. @default writes a line to the console */
  readonly onHookError?: HookErrorReporter;
  /**
   * Called once for each finished request. An error affects nothing. The event has nothing that identifies a
   * person; the address of the caller is in the second argument.
   */
  readonly onRequest?: (event: RequestEvent, source: RequestSource) => void;
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
  /**
   * The address at which callers reach the handler, without a trailing slash: scheme, host, and the path that the
   * platform removes. It is the first server of the OpenAPI document. Pass it only if the platform guarantees it.
   * @default a URL relative to the document
   */
  readonly origin?: string;
  /** Up to 200 characters of printable ASCII; any other is ignored. @default a random UUID */
  readonly requestId?: string;
  /** The error to respond with, if the server received an invalid request. */
  readonly requestError?: ErrorCode;
}

/** Handles a request. Never rejects: an error that is thrown on the way becomes a 500 or a 503. */
export interface Handler {
  (request: Request, context?: RequestContext): Promise<Response>;
  /**
   * The same without a `Request` and a `Response`, which cost more than the rest of a small request. The Node server
   * uses it. A function that wraps a handler does not have it, and then gets a `Request`.
   */
  respond?(request: RequestHead, context?: RequestContext): Promise<PlainResponse>;
}
