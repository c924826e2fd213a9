import fc from "fast-check";
import { expect, test } from "vitest";
import type { AccountStore } from "../../lib/accounts/account-store.ts";
import type { Rejection } from "../../lib/accounts/admission.ts";
import { withRejectionCache } from "../../lib/accounts/rejection-cache.ts";
import { DAY_MS, MINUTE_MS } from "../../lib/plans/windows.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { AT, KEY, PRESENTED, SETTINGS } from "./rejection-cache-fixture.ts";

test("the cache never changes the outcome of a request, over any history", async () => {
  const step = fc.record({
    after: fc.constantFrom(0, 0, 0, 1, 300, 999, 1_000, 20_000, MINUTE_MS),
    operation: fc.constantFrom(
      "admit",
      "admit",
      "admit",
      "admit",
      "admit",
      "admit",
      "admit",
      "unban",
      "update",
      "reset",
    ),
  });
  type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;
  const replay = async (accounts: AccountStore, steps: readonly Step[]) => {
    await accounts.create(SETTINGS);
    const outcomes: unknown[] = [];
    let at = AT;
    for (const { after, operation } of steps) {
      at += after;
      if (operation === "unban") await accounts.unban("acme", KEY.id);
      else if (operation === "reset") await accounts.resetUsage("acme");
      else if (operation === "update") await accounts.update("acme", (account) => ({ ok: true, account }));
      else {
        const admission = await accounts.admit(PRESENTED, at, { maxRejections: 4, durationMs: DAY_MS });
        // The count in a rejection from memory is that of the store's last answer.
        outcomes.push({ ...admission, rejections: undefined });
      }
    }
    return outcomes;
  };
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60, size: "max" }), async (steps) => {
      const outcomes = await replay(withRejectionCache(createMemoryStore().accounts), steps);
      expect(outcomes).toEqual(await replay(createMemoryStore().accounts, steps));
    }),
  );
});

test("the rejections of keys beyond the first 10,000 are not cached", async () => {
  let calls = 0;
  const rejection: Rejection = {
    ok: false,
    code: "rate_limit_exceeded",
    caller: { accountId: "acme", keyId: KEY.id, plan: "free" },
    quota: { limit: 1, remaining: 0, resetsAt: AT + MINUTE_MS },
    retryAfterSeconds: 60,
    rejections: { windowStart: AT, count: 1 },
    startsBan: false,
  };
  const rejecting: AccountStore = {
    ...createMemoryStore().accounts,
    admit: async () => {
      calls++;
      return rejection;
    },
    recordRejections: async () => {},
  };
  const cached = withRejectionCache(rejecting);
  const flood = async (at: number) => {
    calls = 0;
    for (let key = 0; key < 10_100; key++) await cached.admit({ accountId: "acme", hash: `${key}` }, at);
    return calls;
  };
  expect(await flood(AT)).toBe(10_100);
  expect(await flood(AT + 1)).toBe(100);
  expect(await flood(AT + 1_500)).toBe(10_100);
});
