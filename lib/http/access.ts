import type { AccountStore } from "../accounts/account-store.ts";
import {
  type Admission,
  type AdmissionPolicy,
  type Admitted,
  DEFAULT_BAN_POLICY,
  type Rejection,
  validateBanPolicy,
} from "../accounts/admission.ts";
import { createAnonymousCallers } from "../accounts/anonymous-callers.ts";
import { accountIdOf, digestKey, type ParsedKey } from "../accounts/api-key.ts";
import { createKeyOwners } from "../accounts/imported-keys.ts";
import { createLookupLimit, LOOKUP_PAUSE_SECONDS } from "../accounts/lookup-limit.ts";
import { withRejectionCache } from "../accounts/rejection-cache.ts";
import type { Clock, Instant } from "../core/time.ts";
import type { StoreOperation } from "../orders/store-operation.ts";
import { validatePlans } from "../plans/plan-limits.ts";
import { type Quota, secondsUntil } from "../plans/windows.ts";
import type { HandlerOptions } from "./options.ts";
import type { ErrorReply } from "./reply.ts";
import { presentedKey, type RequestHead } from "./request.ts";
import type { RequestResult } from "./response.ts";

/** `wouldReject`: why it would have been rejected if limits were enforced. It is not counted. */
export type Access = (Admitted & { readonly wouldReject?: Rejection["code"] }) | Denied;

export type AccessOptions = Pick<
  HandlerOptions,
  "banPolicy" | "plans" | "cacheRejections" | "keys" | "enforce"
>;

interface Denied extends Pick<RequestResult, "caller" | "limitedUntil" | "startsBan"> {
  readonly ok: false;
  readonly quota: Quota;
  readonly reply: ErrorReply;
}

export const UNKNOWN_ADDRESS = "unknown";

/** The largest number of keys that are known to be no guesses. Any further one takes the place of the oldest. */
const MAX_KNOWN_KEYS = 20_000;

/** RFC 6750, section 3. */
const CHALLENGES = {
  missing_api_key: { "www-authenticate": 'Bearer realm="store-orders"' },
  invalid_api_key: { "www-authenticate": 'Bearer realm="store-orders", error="invalid_token"' },
};

/** Authenticates and limits requests. Throws `InvalidInputError` if the plans or the ban policy is invalid. */
export function createAccessControl(
  { banPolicy = DEFAULT_BAN_POLICY, plans, cacheRejections = true, keys = {}, enforce }: AccessOptions,
  accountStore: AccountStore,
  clock: Clock,
) {
  if (plans !== undefined) validatePlans(plans);
  validateBanPolicy(banPolicy);
  // Whatever else a caller without types passes, limits are enforced.
  const isEnforced = enforce !== false;
  const policy: AdmissionPolicy = { ...banPolicy, ...(isEnforced ? {} : { maxRejections: Infinity }), plans };
  // A rejection may come from memory, for a second. An admission never does: `decideAdmission` decides it in the store.
  const accounts = cacheRejections ? withRejectionCache(accountStore) : accountStore;
  /** The accounts of keys, by their hashes, that the store knew when it decided last. They are no guesses. */
  const known = new Map<string, string>();
  const lookupLimit = createLookupLimit();
  const looksUpEveryKey = !isEnforced || (accountStore.isLocal === true && keys.accountOf === undefined);
  const owners = createKeyOwners(accountStore.importedKeys, keys.accountOf, known);
  const free = plans?.["free"];
  const anonymous = createAnonymousCallers(free === undefined || free === "custom" ? {} : { limits: free });

  function deny(error: "missing_api_key" | "invalid_api_key", address: string, at: Instant): Denied {
    const { withinLimit, quota } = anonymous.count(address, at);
    if (withinLimit) return { ok: false, quota, reply: { error, headers: CHALLENGES[error] } };
    const headers = retryAfter(secondsUntil(quota.resetsAt, at));
    const reply = { error: "rate_limit_exceeded", headers } as const;
    return { ok: false, quota, reply, limitedUntil: quota.resetsAt };
  }

  function reject(rejection: Rejection, at: Instant): Access {
    const { code, caller, quota, retryAfterSeconds, startsBan } = rejection;
    if (!isEnforced) return { ok: true, caller, quota, wouldReject: code };
    const reply = { error: code, headers: retryAfter(retryAfterSeconds) };
    const limitedUntil = code === "api_key_banned" ? at + retryAfterSeconds * 1000 : quota.resetsAt;
    return { ok: false, quota, caller, reply, limitedUntil, startsBan };
  }

  function remember({ hash, accountId }: ParsedKey): void {
    const [oldest] = known.keys();
    if (known.size >= MAX_KNOWN_KEYS && oldest !== undefined) known.delete(oldest);
    known.set(hash, accountId);
  }

  function refuse(at: Instant): Denied {
    const reply = { error: "rate_limit_exceeded", headers: retryAfter(LOOKUP_PAUSE_SECONDS) } as const;
    return { ok: false, quota: anonymous.unused(at), reply, limitedUntil: at + LOOKUP_PAUSE_SECONDS * 1000 };
  }

  async function decide(
    presented: { readonly key: string; readonly hash: string },
    address: string,
    at: Instant,
    storeOperation?: StoreOperation,
  ): Promise<Access> {
    const { key, hash } = presented;
    const isFree = looksUpEveryKey || known.has(hash);
    const own = accountIdOf(key);
    const mayFind = () => isFree || lookupLimit.take(hash, { address }, at);
    const found = own === undefined ? await owners.find(presented, at, mayFind) : {};
    if (found.isRefused) return refuse(at);
    const accountId = own ?? found.accountId;
    if (accountId === undefined) return deny("invalid_api_key", address, at);
    if (!isFree && !lookupLimit.take(hash, own === undefined ? { accountId } : { address, accountId }, at))
      return refuse(at);
    const admission = await accounts.admit({ accountId, hash }, at, policy, storeOperation);
    assertDecision(admission, accountId);
    if (!admission.ok && admission.code === "invalid_api_key") {
      known.delete(hash);
      return deny("invalid_api_key", address, at);
    }
    if (!known.has(hash)) remember({ accountId, hash });
    return admission.ok ? admission : reject(admission, at);
  }

  return {
    /** Counts a request, whose `storeOperation` the store may perform. Rejects with `StoreUnavailableError`. */
    async admit(
      headers: RequestHead["headers"],
      address: string,
      storeOperation?: StoreOperation,
    ): Promise<Access> {
      const at = clock();
      const key = presentedKey(headers, keys.headers);
      if (key === undefined) return deny("missing_api_key", address, at);
      const hash = await digestKey(key);
      const request = () => decide({ key, hash }, address, at, storeOperation);
      if (looksUpEveryKey || known.has(hash)) return request();
      const access = await lookupLimit.share(hash, () => known.has(hash), request);
      return access ?? refuse(at);
    },

    peek: (address: string): Quota => anonymous.peek(address, clock()),

    unusedQuota: anonymous.unused,
  };
}

/** Throws for anything else than a decision about the account of the key: a store of the embedder's own can be wrong. */
function assertDecision(admission: Admission, accountId: string): void {
  const { ok, code, caller, quota, retryAfterSeconds } = Object(admission);
  if (ok === false && code === "invalid_api_key") return;
  const isRejection = ok === false && (code === "rate_limit_exceeded" || code === "api_key_banned");
  const isDecision = ok === true || (isRejection && Number.isFinite(retryAfterSeconds));
  const isCounted = [quota?.limit, quota?.remaining, quota?.resetsAt].every(Number.isFinite);
  if (!isDecision || !isCounted || caller?.accountId !== accountId || typeof caller.keyId !== "string")
    throw new TypeError("The store returned no decision about a request of this account.");
}

function retryAfter(seconds: number): { readonly "retry-after": string } {
  return { "retry-after": `${seconds}` };
}
