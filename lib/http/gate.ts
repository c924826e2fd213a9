import type { AccountStore } from "../accounts/account-store.ts";
import type { Caller, Rejection } from "../accounts/admission.ts";
import { assertOptions } from "../core/errors.ts";
import { type Clock, systemClock, wholeClock } from "../core/time.ts";
import { type AccessOptions, createAccessControl, UNKNOWN_ADDRESS } from "./access.ts";
import { validateKeySource } from "./options.ts";
import type { HeaderFields } from "./reply.ts";
import type { RequestHead } from "./request.ts";
import { createResponse, failureReply, rateLimitHeaders } from "./response.ts";

/** Options of a gate. They mean the same as those of `createHandler`. */
export interface GateOptions extends AccessOptions {
  readonly store: { readonly accounts: AccountStore };
  readonly clock?: Clock;
}

/** A request as a framework has it: a `Request`, or one of Node with its `headers`. */
export interface GatedRequest {
  readonly headers: RequestHead["headers"] | Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** The decision about a request: add the headers to your response, or send the one that is given. */
export type GateAccess =
  | {
      readonly ok: true;
      readonly caller: Caller;
      readonly headers: HeaderFields;
      /** Why the request would have been rejected, if `enforce` were not off. */
      readonly wouldReject?: Rejection["code"];
    }
  | {
      readonly ok: false;
      /** The status is 401, 429, 500 or 503. The body is JSON. */
      readonly response: { readonly status: number; readonly headers: HeaderFields; readonly body: string };
      /** The error behind a 500 or 503. Do not show it to clients. */
      readonly error?: unknown;
    };

/** Authenticates, limits and bans the caller of a request. Never rejects. */
export type Gate = (
  request: GatedRequest,
  context?: { readonly address?: string | undefined },
) => Promise<GateAccess>;

/** Decides like `createHandler`. Throws `InvalidInputError`. See lib/http/README.md#routes-of-your-own. */
export function createGate(options: GateOptions): Gate {
  assertOptions(options, ["store", "clock", "banPolicy", "plans", "cacheRejections", "keys", "enforce"]);
  validateKeySource(options.keys);
  const clock = wholeClock(options.clock ?? systemClock);
  const accessControl = createAccessControl(options, options.store.accounts, clock);

  return async (request, context) => {
    const requestId = crypto.randomUUID();
    const reject = (result: Parameters<typeof createResponse>[0], failure = {}): GateAccess => {
      const response = createResponse(result, requestId, false);
      return { ok: false, response: { ...response, body: `${response.body}` }, ...failure };
    };
    try {
      const { address }: { address?: unknown } = Object(context);
      const known = typeof address === "string" ? address : UNKNOWN_ADDRESS;
      const access = await accessControl.admit(readable(request.headers), known);
      if (!access.ok) return reject(access);
      const { quota, wouldReject } = access;
      const headers = { "x-request-id": requestId, ...rateLimitHeaders(quota) };
      return { ok: true, caller: access.caller, headers, ...(wouldReject && { wouldReject }) };
    } catch (error) {
      const quota = accessControl.unusedQuota(systemClock());
      return reject({ quota, reply: failureReply(error) }, { error });
    }
  };
}

function readable(headers: GatedRequest["headers"]): RequestHead["headers"] {
  if (typeof headers.get === "function") return headers as RequestHead["headers"];
  return { get: (name) => (Object.hasOwn(headers, name) ? `${Object(headers)[name] ?? ""}` : null) };
}
