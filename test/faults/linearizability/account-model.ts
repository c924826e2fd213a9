import { type Account, type ApiKey, addKey, revokeKey } from "../../../lib/accounts/account.ts";
import type { AccountStore } from "../../../lib/accounts/account-store.ts";
import { createAccounts } from "../../../lib/accounts/accounts.ts";
import { type Admission, type BanPolicy, decideAdmission } from "../../../lib/accounts/admission.ts";
import type { Instant } from "../../../lib/clock.ts";
import type { PlanAssignment } from "../../../lib/plans/plan-limits.ts";
import type { Model } from "./history.ts";

/** What is done with one account. */
export type AccountCall = { readonly account: string } & (
  | { readonly does: "look" }
  | { readonly does: "admit"; readonly hash: string; readonly at: Instant; readonly refusals: number }
  | { readonly does: "issue"; readonly key: ApiKey; readonly at: Instant }
  | { readonly does: "revoke"; readonly keyId: string; readonly at: Instant }
  | { readonly does: "setPlan"; readonly terms: PlanAssignment }
  | { readonly does: "pardon"; readonly keyId: string }
);

/** What became of it, as far as it is promised. */
export type AccountAnswer =
  | Account
  | Pick<Account, "terms" | "keys">
  | { readonly refused: string }
  | Admission
  | "pardoned"
  | undefined;

/** Three refusals in a minute bring a ban that ends within the next one. */
export const POLICY: BanPolicy = { maxRejections: 2, durationMs: 45_000 };

/** Makes the call. */
export async function callAccount(store: AccountStore, call: AccountCall): Promise<AccountAnswer> {
  const operator = (at: Instant) => createAccounts({ store, environment: "test", clock: () => at });
  const { account } = call;
  switch (call.does) {
    case "look":
      return store.find(account);
    case "admit":
      return told(await store.admit({ accountId: account, hash: call.hash }, call.at, POLICY, call.refusals));
    case "issue":
      return settled(await store.update(account, (settings) => addKey(settings, call.key, call.at)));
    case "revoke":
      return settled(await operator(call.at).revokeKey(call.keyId));
    case "setPlan":
      return settled(await operator(0).setPlan(account, call.terms));
    case "pardon":
      await store.unban(account, call.keyId);
      return "pardoned";
  }
}

/** An account by the rules alone. */
export const accountModel: Model<Account, AccountCall, AccountAnswer> = {
  step(account, call) {
    switch (call.does) {
      case "look":
        return { state: account, answer: account };
      case "admit":
        return admitted(account, call);
      case "issue":
        return changed(account, addKey(account, call.key, call.at));
      case "revoke":
        return changed(account, revokeKey(account, call.keyId, call.at));
      case "setPlan":
        return changed(account, { ...account, terms: call.terms });
      case "pardon": {
        const { [call.keyId]: _forgotten, ...rejections } = account.rejections;
        return { state: { ...account, rejections }, answer: "pardoned" };
      }
    }
  },

  keyOf: ({ terms, keys, usage, rejections }) =>
    JSON.stringify([terms, usage, keys.map((key) => [key, rejections[key.id]])]),
};

type Step = ReturnType<typeof accountModel.step>;

function admitted(account: Account, { hash, at, refusals }: Extract<AccountCall, { does: "admit" }>): Step {
  const { id: accountId, terms, usage, rejections } = account;
  const key = account.keys.find((known) => known.hash === hash);
  const caller = key && { accountId, terms, usage, key, rejections: rejections[key.id] };
  const decided = decideAdmission(caller, at, POLICY, refusals);
  const answer = told(decided);
  if (decided.outcome === "admitted") return { state: { ...account, usage: decided.write }, answer };
  if (key === undefined || decided.outcome === "unknown" || decided.write === undefined) {
    return { state: account, answer };
  }
  return { state: { ...account, rejections: { ...rejections, [key.id]: decided.write } }, answer };
}

function changed(account: Account, decided: Parameters<typeof settled>[0]): Step {
  const state = "refused" in decided ? account : { ...account, ...decided };
  return { state, answer: settled(decided) };
}

/** A change gives the settings; what else a store hands out with them is not promised. */
function settled(decided: Pick<Account, "terms" | "keys"> | { readonly refused: string }): AccountAnswer {
  return "refused" in decided ? decided : { terms: decided.terms, keys: decided.keys };
}

/** A refusal may be added to others that came meanwhile: how many that makes is seen by a look, not by the answer. */
function told(decided: Admission): Admission {
  if (decided.outcome !== "refused") return decided;
  const { write: _written, ...answer } = decided;
  return answer;
}
