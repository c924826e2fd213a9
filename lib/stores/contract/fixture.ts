import type { AccountSettings, ApiKey } from "../../accounts/account.ts";
import type { AccountStore } from "../../accounts/account-store.ts";
import type { Admission } from "../../accounts/admission.ts";
import type { Instant } from "../../clock.ts";
import type { PlanAssignment } from "../../plans/plan-limits.ts";

/** An instant a little after the full minute of noon. */
export const AT = Date.UTC(2026, 10, 20, 12) + 250;
export const FIRST: ApiKey = { id: "shop.first", hash: "1".repeat(64), createdAt: AT };
export const SECOND: ApiKey = { id: "shop.second", hash: "2".repeat(64), createdAt: AT };

/** Puts the account `shop` into a store, with both keys. */
export async function createAccountFixture(
  accounts: AccountStore,
  terms: PlanAssignment = { plan: "free" },
  keys = [FIRST, SECOND],
) {
  const settings: AccountSettings = { id: "shop", terms, keys };
  await accounts.create(settings);
  return {
    admit: (at: Instant, key = FIRST) => accounts.admit({ accountId: "shop", hash: key.hash }, at),
    /** Calls at once; tells what became of each. */
    burst: (count: number, at: Instant, key = FIRST) =>
      Promise.all(
        Array.from({ length: count }, () => accounts.admit({ accountId: "shop", hash: key.hash }, at)),
      ),
  };
}

/** What became of a call, in a word. */
export const outcomeName = (result: Admission) =>
  result.outcome === "refused" ? result.code : result.outcome === "unknown" ? result.reason : result.outcome;
/** How many calls were admitted. */
export const admitted = (results: readonly Admission[]) =>
  results.filter(({ outcome }) => outcome === "admitted").length;
