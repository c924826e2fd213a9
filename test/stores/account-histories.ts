import fc from "fast-check";
import { expect } from "vitest";
import { type Account, type ApiKey, isActive, revokeKey } from "../../lib/accounts/account.ts";
import { performStoreOperation } from "../../lib/orders/store-operation.ts";
import type { PlanAssignment } from "../../lib/plans/plan-limits.ts";
import { DAY_MS, MINUTE_MS, usageAt } from "../../lib/plans/windows.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import type { Store } from "../../lib/stores/store.ts";

const AT = Date.UTC(2026, 10, 20, 12);
const KEYS: readonly ApiKey[] = [
  { id: "acme.lasting", hash: "1".repeat(64), createdAt: AT },
  { id: "acme.expiring", hash: "2".repeat(64), createdAt: AT, expiresAt: AT + 3 * MINUTE_MS },
];

/** Times that jump forward and backward across windows, and keys that are known, unknown and expiring. */
const anyStep = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      operation: fc.constant("admit" as const),
      hash: fc.constantFrom("1".repeat(64), "1".repeat(64), "1".repeat(64), "2".repeat(64), "3".repeat(64)),
      cancels: fc.boolean(),
      after: fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 1, MINUTE_MS, -MINUTE_MS, 5 * MINUTE_MS, DAY_MS),
    }),
  },
  fc.record({
    operation: fc.constant("revoke" as const),
    keyId: fc.constantFrom("acme.lasting", "acme.expiring"),
  }),
  fc.record({
    operation: fc.constant("unban" as const),
    keyId: fc.constantFrom("acme.lasting", "acme.expiring"),
  }),
  fc.record({
    operation: fc.constant("setPlan" as const),
    plan: fc.constantFrom<PlanAssignment>(
      { plan: "free" },
      { plan: "enterprise", customLimits: { perMinute: 1, perDay: 9 } },
      { plan: "enterprise", customLimits: { perMinute: 3, perDay: 4 } },
      { plan: "enterprise" },
    ),
  }),
);
type Step = typeof anyStep extends fc.Arbitrary<infer S> ? S : never;

/** Admits a request that cancels an order, or does nothing. A store may leave the cancel to its caller. */
async function admitWithCancel(
  { accounts, orders }: Store,
  hash: string,
  at: number,
  id: bigint | undefined,
) {
  const policy = { maxRejections: 2, durationMs: 2 * MINUTE_MS };
  const operation = id === undefined ? undefined : ({ type: "apply", id, event: "cancel" } as const);
  const admission = await accounts.admit({ accountId: "acme", hash }, at, policy, operation);
  if (!admission.ok || operation === undefined || "outcome" in admission) return admission;
  return { ...admission, outcome: await performStoreOperation(orders, operation, at) };
}

/** The results of all steps, with the account after each and the orders after the last. */
async function replay(store: Store, steps: readonly Step[]): Promise<readonly unknown[]> {
  const { accounts, orders } = store;
  const results: unknown[] = [];
  await accounts.create({
    id: "acme",
    plan: "enterprise",
    customLimits: { perMinute: 2, perDay: 7 },
    keys: KEYS,
  });
  const placed = steps.map((_, index) => ({ record: { id: BigInt(index) }, status: "pending" as const }));
  await orders.place(placed, AT);
  let at = AT;
  for (const [index, step] of steps.entries()) {
    switch (step.operation) {
      case "admit":
        at = Math.max(AT, at + step.after);
        results.push(await admitWithCancel(store, step.hash, at, step.cancels ? BigInt(index) : undefined));
        break;
      case "revoke":
        await accounts.update("acme", (account) => revokeKey(account, step.keyId, AT));
        break;
      case "unban":
        await accounts.unban("acme", step.keyId);
        break;
      case "setPlan":
        await accounts.update("acme", ({ id, keys }) => ({ ok: true, account: { id, keys, ...step.plan } }));
        break;
    }
    const account = await accounts.find("acme");
    // A store need not keep the last uses of keys.
    results.push(account && { ...account, lastUses: undefined, rejections: effectiveAt(account, at) });
  }
  return [...results, await orders.countByStatus()];
}

/** Rejections that still matter. A store may forget those of inactive keys and earlier minutes, and bans that ended. */
function effectiveAt({ keys, rejections, usage }: Account, at: number): Account["rejections"] {
  const minute = usageAt(usage, at).minute.start;
  const effective = keys.flatMap((key) => {
    const { bannedUntil = 0, ...counted } = rejections[key.id] ?? { windowStart: -1, count: 0 };
    if (!isActive(key, at)) return [];
    if (bannedUntil > at) return [[key.id, { ...counted, bannedUntil }] as const];
    return counted.windowStart === minute ? [[key.id, counted] as const] : [];
  });
  return Object.fromEntries(effective);
}

/** Expects that a store, which is opened anew for each history, decides like the memory store over any of them. */
export async function expectDecisionsOfMemory(open: (run: number) => Promise<Store>): Promise<void> {
  let runs = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { minLength: 10, maxLength: 40, size: "max" }), async (steps) => {
      const expected = await replay(createMemoryStore(), steps);
      expect(await replay(await open(runs++), steps)).toEqual(expected);
    }),
    { numRuns: 12 },
  );
}
