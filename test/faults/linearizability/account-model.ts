import type { AccountErrorCode } from "../../../lib/accounts/account.ts";
import {
  type Account,
  type AccountResult,
  type AccountSettings,
  type ApiKey,
  addKey,
  revokeKey,
} from "../../../lib/accounts/account.ts";
import type { AccountStore } from "../../../lib/accounts/account-store.ts";
import { createAccounts } from "../../../lib/accounts/accounts.ts";
import {
  type Admission,
  type BanPolicy,
  decideAdmission,
  decideRejections,
  type KeyState,
} from "../../../lib/accounts/admission.ts";
import type { Failure } from "../../../lib/core/errors.ts";
import type { Instant } from "../../../lib/core/time.ts";
import type { PlanAssignment } from "../../../lib/plans/plan-limits.ts";
import type { Model } from "./checker.ts";

export type AccountCall = { readonly account: string } & (
  | { readonly kind: "find" }
  | { readonly kind: "admit"; readonly hash: string; readonly at: Instant }
  | { readonly kind: "recordRejections"; readonly hash: string; readonly at: Instant; readonly count: number }
  | { readonly kind: "issue"; readonly key: ApiKey; readonly at: Instant }
  | { readonly kind: "revoke"; readonly keyId: string; readonly at: Instant }
  | { readonly kind: "setPlan"; readonly plan: PlanAssignment }
  | { readonly kind: "unban"; readonly keyId: string }
);

/** The result of a call, as far as it is guaranteed. */
export type AccountCallResult =
  | Account
  | AccountSettings
  | Failure<AccountErrorCode>
  | Admission
  | "recorded"
  | "unbanned"
  | undefined;

/** Two rejections in a minute, after its grace, start a ban that ends within the next one. */
export const POLICY: BanPolicy = { maxRejections: 1, durationMs: 45_000 };

export async function callAccount(store: AccountStore, call: AccountCall): Promise<AccountCallResult> {
  const operator = (at: Instant) => createAccounts({ store, environment: "test", clock: () => at });
  const { account: accountId } = call;
  switch (call.kind) {
    case "find":
      return guaranteedAccount(await store.find(accountId));
    case "admit":
      return guaranteed(await store.admit({ accountId, hash: call.hash }, call.at, POLICY));
    case "recordRejections":
      await store.recordRejections({ accountId, hash: call.hash }, call.count, call.at, POLICY);
      return "recorded";
    case "issue":
      return settingsIn(await store.update(accountId, (settings) => addKey(settings, call.key, call.at)));
    case "revoke":
      return settingsIn(await operator(call.at).revokeKey(call.keyId));
    case "setPlan":
      return settingsIn(await operator(0).setPlan(accountId, call.plan));
    case "unban":
      await store.unban(accountId, call.keyId);
      return "unbanned";
  }
}

/** An account according to the pure rules. */
export const accountModel: Model<Account, AccountCall, AccountCallResult> = {
  step(account, call) {
    switch (call.kind) {
      case "find":
        return { state: account, result: guaranteedAccount(account) };
      case "admit": {
        const state = keyStateOf(account, call.hash);
        const { admission, save } = decideAdmission(state, call.at, POLICY);
        const counted = { ...account, usage: save.usage ?? account.usage };
        const next = withRejections(counted, state, save.rejections);
        const result = guaranteed(admission);
        return admission.ok
          ? { state: next, other: withoutEndedBan(next, state), result }
          : { state: next, result };
      }
      case "recordRejections": {
        const state = keyStateOf(account, call.hash);
        const rejections = decideRejections(state, call.count, call.at, POLICY);
        return { state: withRejections(account, state, rejections), result: "recorded" };
      }
      case "issue":
        return updated(account, addKey(account, call.key, call.at));
      case "revoke":
        return updated(account, revokeKey(account, call.keyId, call.at));
      case "setPlan":
        return updated(account, { ok: true, account: { id: account.id, keys: account.keys, ...call.plan } });
      case "unban": {
        const { [call.keyId]: _removed, ...rejections } = account.rejections;
        return { state: { ...account, rejections }, result: "unbanned" };
      }
    }
  },

  keyOf: ({ plan, customLimits, keys, usage, rejections }) =>
    JSON.stringify([plan, customLimits, usage, keys.map((key) => [key, rejections[key.id]])]),
};

function keyStateOf(account: Account, hash: string): KeyState | undefined {
  const key = account.keys.find((known) => known.hash === hash);
  return key && { ...account, accountId: account.id, key, rejections: account.rejections[key.id] };
}

function withRejections(
  account: Account,
  state: KeyState | undefined,
  rejections: KeyState["rejections"],
): Account {
  if (state === undefined || rejections === undefined) return account;
  return { ...account, rejections: { ...account.rejections, [state.key.id]: rejections } };
}

function updated({ usage, rejections, ...before }: Account, result: AccountResult) {
  const settings = result.ok ? result.account : before;
  const { id, plan, customLimits, keys } = settings;
  const state: Account = { id, plan, ...(customLimits && { customLimits }), keys, usage, rejections };
  return { state, result: settingsIn(result) };
}

/** An update returns the settings. What else a store returns with them is not guaranteed. */
function settingsIn(result: AccountResult): AccountCallResult {
  if (!result.ok) return result;
  const { id, plan, customLimits, keys } = result.account;
  return { id, plan, ...(customLimits && { customLimits }), keys };
}

/** Concurrent rejections are added up: the count after each is seen by `find`, not in the admission. */
function guaranteed(admission: Admission): Admission {
  if (admission.ok || admission.code === "invalid_api_key") return admission;
  return { ...admission, rejections: { windowStart: 0, count: 0 } };
}

/** A store need not keep the rejections of a revoked key, nor the last use of any. */
function guaranteedAccount(account: Account): Account;
function guaranteedAccount(account: Account | undefined): Account | undefined;
function guaranteedAccount(account: Account | undefined): Account | undefined {
  if (account === undefined) return account;
  const { lastUses: _notGuaranteed, ...guaranteed } = account;
  const revoked = new Set(account.keys.filter((key) => key.revokedAt !== undefined).map(({ id }) => id));
  const rejections = Object.entries(account.rejections).filter(([id]) => !revoked.has(id));
  return { ...guaranteed, rejections: Object.fromEntries(rejections) };
}

/** The account after an admitted request, if the store also removes the ban of the key, which has ended by then. */
function withoutEndedBan(account: Account, state: KeyState | undefined): Account | undefined {
  const rejections = state?.rejections;
  if (state === undefined || rejections?.bannedUntil === undefined) return undefined;
  const { windowStart, count } = rejections;
  return { ...account, rejections: { ...account.rejections, [state.key.id]: { windowStart, count } } };
}
