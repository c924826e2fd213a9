import type { AccountStore } from "../accounts/account-store.ts";
import type { BanPolicy } from "../accounts/admission.ts";
import { createAnonymousCallers } from "../accounts/anonymous-callers.ts";
import { parseKey } from "../accounts/api-key.ts";
import type { Clock, Instant } from "../clock.ts";
import type { ErrorCode } from "../errors.ts";
import { secondsUntil } from "../plans/windows.ts";
import type { HeaderFields, RateLimitStatus } from "./reply.ts";

/** Whether a request may go on, with what its headers have to tell either way. */
export interface AdmissionResult {
  readonly standing: RateLimitStatus;
  readonly refused?: { readonly error: ErrorCode; readonly headers?: HeaderFields };
}

/** Decides who comes in: authentication and limits, before anything else is done. */
export interface AccessControl {
  /** Rejects with `StoreUnavailableError` where the store cannot be asked: nobody is let through unchecked. */
  admit(authorization: string | null, address: string): Promise<AdmissionResult>;
  /** What is left to a caller of whom nothing but the address is known. */
  anonymous(address: string): RateLimitStatus;
}

export const CHALLENGE = { "www-authenticate": 'Bearer realm="store-orders"' };

/** Binds the gate to the accounts of a store. */
export function createAccessControl(
  accounts: AccountStore,
  clock: Clock,
  banPolicy: BanPolicy,
): AccessControl {
  const anonymous = createAnonymousCallers();

  function reject(
    error: "missing_api_key" | "invalid_api_key",
    address: string,
    at: Instant,
  ): AdmissionResult {
    const { admitted, quota } = anonymous.count(address, at);
    if (admitted) return { standing: { quota }, refused: { error, headers: CHALLENGE } };
    const headers = { "retry-after": `${secondsUntil(quota.resetsAt, at)}` };
    return { standing: { quota }, refused: { error: "rate_limit_exceeded", headers } };
  }

  return {
    async admit(authorization, address) {
      const at = clock();
      const presented = /^bearer +(.*)$/i.exec(authorization ?? "")?.[1];
      if (presented === undefined) return reject("missing_api_key", address, at);
      const key = parseKey(presented.trim());
      if (key === undefined) return reject("invalid_api_key", address, at);

      const admission = await accounts.admit(key, at, banPolicy);
      switch (admission.outcome) {
        case "unknown":
          return reject("invalid_api_key", address, at);
        case "refused": {
          const { caller, quota, code, retryAfter } = admission;
          return {
            standing: { quota, caller },
            refused: { error: code, headers: { "retry-after": `${retryAfter}` } },
          };
        }
        case "admitted":
          return { standing: { quota: admission.quota, caller: admission.caller } };
      }
    },
    anonymous: (address) => ({ quota: anonymous.peek(address, clock()) }),
  };
}
