import type { AccountStore } from "../accounts/account-store.ts";
import type { BanPolicy } from "../accounts/admission.ts";
import type { FindAccount } from "../accounts/imported-keys.ts";
import { assertOptions, InvalidInputError, invalidInput } from "../core/errors.ts";
import type { HookErrorReporter } from "../core/hooks.ts";
import type { Clock } from "../core/time.ts";
import type { HostRouter } from "../domains/routing.ts";
import type { OrderStore } from "../orders/order-store.ts";
import type { TransitionHook } from "../orders/transition-hook.ts";
import type { PlanTable } from "../plans/plan-limits.ts";
import type { CustomOperation } from "./custom-operations.ts";
import type { OpenApiInfo } from "./openapi.ts";
import type { PetSource, ServiceOperation } from "./operations.ts";
import type { DocumentSource } from "./reply.ts";
import type { RequestContext, RequestHead } from "./request.ts";
import type { ClientInfo, RequestEvent } from "./request-event.ts";
import type { PlainResponse } from "./response.ts";

/** Options of a handler. Everything but the store has a default. */
export interface HandlerOptions {
  readonly store: {
    readonly orders: OrderStore;
    readonly accounts: AccountStore;
    /** Rejects unless the store can serve requests; see `Store.check`. */
    check(): Promise<void>;
  };
  /** Returns the current time. @default the system clock */
  readonly clock?: Clock;
  /** See lib/client/retries.md. @default more than 20 rejections in a minute that count ban a key for 15 minutes */
  readonly banPolicy?: BanPolicy;
  /** The plans of accounts; any other gets 401. Pass the same to `createAccounts`. @default PLAN_LIMITS */
  readonly plans?: PlanTable;
  /** Caches the rejection of a key for up to a second: a flood with it costs one store call a second. @default true */
  readonly cacheRejections?: boolean;
  /** Keys of another system; see lib/README.md#existing-keys. @default `Authorization: Bearer`, and imported keys */
  readonly keys?: KeySource;
  /** False only reports limits and bans, in `wouldReject` of `onRequest`. Keys are checked all the same. @default true */
  readonly enforce?: boolean;
  /** Reads the pets of the deprecated operation. @default no pets */
  readonly pets?: PetSource;
  /** Any of `OPERATIONS`, with other data if you like, and those that `defineOperation` returns. @default OPERATIONS */
  readonly operations?: readonly (ServiceOperation | CustomOperation)[];
  /** Whose API the OpenAPI document describes, and where it is. @default Store Orders, this server */
  readonly openapi?: OpenApiInfo;
  /** The path below which all is served, such as `/shop`. Leave it out if the framework removes it. @default the root */
  readonly basePath?: string;
  /** The origins whose web pages may call the API, such as `https://shop.example.com`. @default the same origin only */
  readonly corsOrigins?: readonly string[];
  /** Returns the current custom domains, or what looks them up. Called for each request. @default every host is served */
  readonly hosts?: () => HostRouter;
  /** Documents to serve beside the API, such as `docsPage()`. @default none */
  readonly documents?: DocumentSource;
  /** Called after an order was cancelled, once that is durable. The response waits for it. */
  readonly onTransition?: TransitionHook;
  /** Gets errors of both hooks; without `onRequest`, also that behind each 500. @default writes a line to the console */
  readonly onHookError?: HookErrorReporter;
  /** Called once for each finished request. Only the second argument identifies the caller. */
  readonly onRequest?: (event: RequestEvent, client: ClientInfo) => void;
}

/** Where callers send their keys, and whose a key is that this package has not issued. */
export interface KeySource {
  /** Further headers, in lower case, such as `x-api-key`. They are read in their order if there is no bearer key. */
  readonly headers?: readonly string[];
  /** Called for each key that is not ours, which the account must have. @default who has it by `Accounts.importKey` */
  readonly accountOf?: FindAccount;
}

/** Handles a request. Never rejects, whatever it is given: an error on the way becomes a 500 or a 503. */
export interface Handler {
  (request: Request, context?: RequestContext): Promise<Response>;
  /** The same without a `Request` and a `Response`, which cost more than the rest of a small request. */
  respond?(request: RequestHead, context?: RequestContext): Promise<PlainResponse>;
}

const OPTION_NAMES =
  "store clock banPolicy plans cacheRejections keys enforce pets operations openapi basePath corsOrigins hosts documents onTransition onHookError onRequest";

/** Throws `InvalidInputError` for an option of an unknown name, and for a header that cannot have a key. */
export function validateOptions(options: HandlerOptions): void {
  const { hosts, keys, openapi } = options;
  assertOptions(options, OPTION_NAMES.split(" "));
  if (hosts && typeof hosts !== "function") throw invalidInput("hosts", "Pass a function: () => table.");
  validateKeySource(keys);
  assertOptions(openapi, ["title", "description", "contact", "servers", "docsUrl"], "openapi.");
  assertOptions(openapi?.contact, ["name", "url", "email"], "openapi.contact.");
}

export function validateKeySource(keys: KeySource | undefined): void {
  assertOptions(keys, ["headers", "accountOf"], "keys.");
  const { headers = [] } = keys ?? {};
  const issues = headers.flatMap((name, index) => {
    const message = findKeyHeaderProblem(name);
    return message === undefined ? [] : [{ path: `keys.headers[${index}]`, message }];
  });
  if (issues.length > 0) throw new InvalidInputError(issues);
}

export function findKeyHeaderProblem(name: string): string | undefined {
  const isName = /^[!#$%&'*+.^_`|~0-9a-z-]{1,64}$/.test(name);
  return isName ? undefined : "Give a header name in lower case.";
}
