import type { AccountSettings, ApiKey } from "../../accounts/account.ts";
import type { AccountStore } from "../../accounts/account-store.ts";
import { type Admission, BAN_GRACE_MS } from "../../accounts/admission.ts";
import type { Instant } from "../../core/time.ts";
import type { PlanAssignment } from "../../plans/plan-limits.ts";

/** An instant 250 ms after the start of a minute. */
export const AT: Instant = Date.UTC(2026, 10, 20, 12) + 250;
export const FIRST: ApiKey = { id: "acme.first", hash: "1".repeat(64), createdAt: AT };
export const SECOND: ApiKey = { id: "acme.second", hash: "2".repeat(64), createdAt: AT };
/** In the same minute, when every rejection of a key counts that was first rejected at `AT`. */
export const LATER: Instant = AT + BAN_GRACE_MS;
export const KEY = { accountId: "acme", hash: FIRST.hash };

export const pending = (id: bigint) => ({ record: { id }, status: "pending" }) as const;
export const idsUpTo = (count: number) => Array.from({ length: count }, (_, index) => BigInt(index));

export const apiKey = (name: string | number): ApiKey => ({
  id: `acme.${name}`,
  hash: `${name}`.padStart(64, "0"),
  createdAt: AT,
});

export const limitedTo = (perMinute: number, perDay: number) =>
  ({ plan: "enterprise", customLimits: { perMinute, perDay } }) as const;
/** Few requests use them up. */
export const LOW_LIMITS = limitedTo(9, 1_000);

export const replacing = (settings: Partial<AccountSettings>) => (account: AccountSettings) =>
  ({ ok: true, account: { ...account, ...settings } }) as const;

export async function createAccountFixture(
  accounts: AccountStore,
  plan: PlanAssignment = { plan: "free" },
  keys = [FIRST, SECOND],
) {
  await accounts.create({ id: "acme", ...plan, keys });
  const admit = (at: Instant, { hash } = FIRST) => accounts.admit({ accountId: "acme", hash }, at);
  return {
    admit,
    burst: (count: number, at: Instant, key = FIRST) =>
      Promise.all(Array.from({ length: count }, () => admit(at, key))),
  };
}

export function outcomeName(admission: Admission): string {
  if (admission.ok) return "admitted";
  return admission.code === "invalid_api_key" ? admission.reason : admission.code;
}

export function admitted(admissions: readonly Admission[]): number {
  return admissions.filter(({ ok }) => ok).length;
}
