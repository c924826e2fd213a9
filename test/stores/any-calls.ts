import fc from "fast-check";
import { expect } from "vitest";
import { type Account, type ApiKey, revokeKey } from "../../lib/accounts/account.ts";
import { performStoreOperation } from "../../lib/orders/store-operation.ts";
import type { PlanAssignment } from "../../lib/plans/plan-limits.ts";
import { MINUTE_MS } from "../../lib/plans/windows.ts";
import type { Store } from "../../lib/stores/store.ts";

const AT = Date.UTC(2026, 10, 20, 12);

const key = (id: string, digit: string, more?: Partial<ApiKey>): ApiKey => ({
  id,
  hash: digit.repeat(64),
  createdAt: AT,
  ...more,
});
const LIMITS = { plan: "enterprise", customLimits: { perMinute: 6, perDay: 9 } } as const;
const ACCOUNTS = [
  {
    id: "acme",
    ...LIMITS,
    keys: [key("acme.1", "1"), key("acme.2", "2", { expiresAt: AT + 5 * MINUTE_MS })],
  },
  { id: "other", ...LIMITS, keys: [key("other.1", "3")] },
];
const POLICY = { maxRejections: 2, durationMs: 2 * MINUTE_MS };
/** The order that a test may damage. */
export const DAMAGED = 9n;

const IDS = Array.from({ length: 30 }, (_, index) => BigInt(index));
const anyId = fc.constantFrom(...IDS, 30n, 31n);
const anyEvent = fc.constantFrom("cancel" as const, "cancel" as const, "cancel" as const, "ship" as const);
const anyAccount = fc.constantFrom("acme", "acme", "acme", "acme", "other");
const anyKeyId = fc.constantFrom("acme.1", "acme.2", "other.1");
const anyTime = fc.constantFrom(
  AT,
  AT,
  AT,
  AT,
  AT,
  AT,
  AT + 1,
  AT + MINUTE_MS,
  AT - MINUTE_MS,
  AT + 10 * MINUTE_MS,
);
const anyKey = fc.record({
  accountId: anyAccount,
  hash: fc.constantFrom("1", "1", "1", "1", "1", "2", "3", "4").map((digit) => digit.repeat(64)),
});
const anyOperation = fc.oneof(fc.constantFrom(undefined, { type: "list" as const }), {
  weight: 3,
  arbitrary: fc.record({ type: fc.constant("apply" as const), id: anyId, event: anyEvent }),
});
const anyPlan = fc.constantFrom<PlanAssignment>(
  LIMITS,
  { plan: "free" },
  { plan: "enterprise" },
  { plan: "enterprise", customLimits: { perMinute: 20, perDay: 5 } },
);

/** A call of any store. It resolves with what every store returns. */
export type Call = (store: Store) => Promise<unknown>;
const admissions = fc.tuple(anyKey, anyTime, anyOperation).map(
  ([presented, at, operation]): Call =>
    async ({ accounts, orders }) => {
      const admission = await accounts.admit(presented, at, POLICY, operation);
      if (!admission.ok || operation === undefined) return admission;
      // A store may leave the operation to its caller.
      const outcome = admission.outcome ?? (await performStoreOperation(orders, operation, at));
      return { ...admission, outcome: outcome.type === "list" ? outcome.first : outcome };
    },
);
const others = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.tuple(anyKey, fc.constantFrom(1, 3), anyTime).map(
      ([presented, count, at]): Call =>
        ({ accounts }) =>
          accounts.recordRejections(presented, count, at, POLICY),
    ),
  },
  fc.tuple(anyAccount, anyKeyId).map(
    ([id, keyId]): Call =>
      ({ accounts }) =>
        accounts.unban(id, keyId),
  ),
  {
    weight: 4,
    arbitrary: fc.tuple(anyAccount, anyKeyId).map(
      ([id, keyId]): Call =>
        ({ accounts }) =>
          accounts.update(id, (account) => revokeKey(account, keyId, AT)),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(anyAccount, anyPlan).map(
      ([account, plan]): Call =>
        ({ accounts }) =>
          accounts.update(account, ({ id, keys }) => ({ ok: true, account: { id, keys, ...plan } })),
    ),
  },
  anyAccount.map(
    (id): Call =>
      ({ accounts }) =>
        accounts.resetUsage(id),
  ),
  anyAccount.map(
    (id): Call =>
      ({ accounts }) =>
        accounts.delete(id),
  ),
  fc.constantFrom(...ACCOUNTS).map(
    (account): Call =>
      ({ accounts }) =>
        accounts.create(account),
  ),
  fc.constant<Call>(({ accounts }) => accounts.update("acme", () => expect.fail("no"))),
  anyId.map(
    (id): Call =>
      ({ orders }) =>
        orders.place([{ record: { id }, status: "pending" }], AT),
  ),
  fc.tuple(anyId, anyEvent).map(
    ([id, event]): Call =>
      ({ orders }) =>
        orders.apply(id, event, AT),
  ),
  fc.boolean().map(
    (on): Call =>
      async ({ outbox }) =>
        outbox?.switch(on),
  ),
);
export const anyCalls = fc.array(
  fc.oneof({ weight: 6, arbitrary: admissions }, { weight: 1, arbitrary: others }),
  {
    minLength: 20,
    maxLength: 40,
    size: "max",
  },
);

export async function fillForCalls({ accounts, orders }: Store): Promise<void> {
  for (const account of ACCOUNTS) await accounts.create(account);
  await orders.place(
    IDS.map((id) => ({ record: { id }, status: "pending" })),
    AT,
  );
}

export async function resultsInTurn(store: Store, calls: readonly Call[]): Promise<readonly unknown[]> {
  const results = [];
  for (const call of calls) results.push(await settle(call, store));
  return results;
}

/** The result of a call as far as it is guaranteed, or the message of its error. */
export async function settle(call: Call, store: Store): Promise<unknown> {
  const result = await call(store).catch((error: Error) => `${error.name}: ${error.message}`);
  if (typeof result !== "object" || result === null || !("account" in result)) return result;
  const { id, plan, customLimits, keys } = result.account as Account;
  return { ...result, account: { id, plan, customLimits, keys } };
}
