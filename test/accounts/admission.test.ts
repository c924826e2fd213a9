import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type Admission,
  DEFAULT_BAN_POLICY,
  decideAdmission,
  type KeyState,
} from "../../lib/accounts/admission.ts";
import type { PlanAssignment } from "../../lib/plans/plan-limits.ts";
import { DAY_MS, MINUTE_MS, NO_USAGE } from "../../lib/plans/windows.ts";

const AT = Date.UTC(2026, 10, 20, 12);
const terms: PlanAssignment = { plan: "enterprise", customLimits: { perMinute: 4, perDay: 9 } };
const newcomer: KeyState = {
  accountId: "shop",
  terms,
  usage: NO_USAGE,
  key: { id: "shop.1", hash: "0", createdAt: 0 },
};

/** What a store does with a decision, and nothing else. */
function applied(caller: KeyState, decided: Admission): KeyState {
  if (decided.outcome === "admitted") return { ...caller, usage: decided.write };
  if (decided.outcome === "refused" && decided.write !== undefined)
    return { ...caller, rejections: decided.write };
  return caller;
}

/** Instants in any order, close enough together to fill windows, sometimes a minute or a day apart, or back. */
const instants = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: fc.integer({ min: 0, max: 3 * MINUTE_MS }) },
    { weight: 1, arbitrary: fc.integer({ min: -DAY_MS, max: 2 * DAY_MS }) },
  ),
  { minLength: 1, maxLength: 120 },
);

describe("for any interleaving of calls and instants", () => {
  test("no aligned window ever admits more than its limit, and refused calls count in none (decision 10)", () => {
    fc.assert(
      fc.property(instants, (offsets) => {
        let caller = newcomer;
        const admittedIn = new Map<string, number>();
        for (const offset of offsets) {
          const before = caller;
          const decided = decideAdmission(caller, AT + offset);
          caller = applied(caller, decided);
          if (decided.outcome !== "admitted") {
            expect(caller.usage).toBe(before.usage);
            continue;
          }
          for (const [name, { start }] of Object.entries(decided.write)) {
            const count = (admittedIn.get(`${name}${start}`) ?? 0) + 1;
            admittedIn.set(`${name}${start}`, count);
            expect(count).toBeLessThanOrEqual(name === "minute" ? 4 : 9);
          }
        }
      }),
    );
  });

  test("who waits for Retry-After and is alone is admitted; who is admitted is told the truth about what is left", () => {
    fc.assert(
      fc.property(instants, (offsets) => {
        let caller = newcomer;
        for (const offset of offsets) {
          const at = AT + offset;
          const decided = decideAdmission(caller, at);
          caller = applied(caller, decided);
          if (decided.outcome === "refused") {
            expect(decided.quota.remaining).toBe(0);
            expect(decided.retryAfter).toBeGreaterThanOrEqual(1);
            expect(at + decided.retryAfter * 1000).toBeGreaterThanOrEqual(decided.quota.resetsAt);
            expect(decideAdmission(caller, at + decided.retryAfter * 1000).outcome).toBe("admitted");
            expect(decideAdmission(caller, at).outcome, "not a moment earlier").toBe("refused");
          }
          if (decided.outcome === "admitted") {
            let more: KeyState = caller;
            for (let left = decided.quota.remaining; left > 0; left--) {
              const next = decideAdmission(more, at);
              expect(next.outcome).toBe("admitted");
              more = applied(more, next);
            }
            expect(decideAdmission(more, at).outcome).toBe("refused");
          }
        }
      }),
    );
  });
});

test("more than 20 refused requests in one minute ban the key for 15 minutes, in the write that counts the last (decision 14)", () => {
  expect(DEFAULT_BAN_POLICY).toEqual({ maxRejections: 20, durationMs: 15 * MINUTE_MS });
  let caller: KeyState = {
    ...newcomer,
    usage: { minute: { start: AT, count: 4 }, day: { start: AT - (AT % DAY_MS), count: 4 } },
  };
  for (let refusal = 1; refusal <= 20; refusal++) {
    const decided = decideAdmission(caller, AT + refusal);
    expect(decided).toMatchObject({
      code: "rate_limit_exceeded",
      write: { windowStart: AT, count: refusal },
    });
    caller = applied(caller, decided);
  }
  const ban = decideAdmission(caller, AT + 500);
  const until = AT + 500 + 15 * MINUTE_MS;
  expect(ban).toMatchObject({
    code: "api_key_banned",
    retryAfter: 900,
    quota: { limit: 4, remaining: 0, resetsAt: until },
    write: { count: 21, bannedUntil: until },
  });
  caller = applied(caller, ban);
  expect(decideAdmission(caller, until - 1)).toMatchObject({ code: "api_key_banned", retryAfter: 1 });
  expect(decideAdmission(caller, until - 1)).not.toHaveProperty("write");
  expect(decideAdmission(caller, until).outcome).toBe("admitted");
});

test("a ban that ends before the day's window does still tells the whole wait", () => {
  const usage = { minute: { start: AT, count: 4 }, day: { start: AT - (AT % DAY_MS), count: 9 } };
  const banned = {
    ...newcomer,
    usage,
    rejections: { windowStart: AT, count: 21, bannedUntil: AT + 15 * MINUTE_MS },
  };
  expect(decideAdmission(banned, AT)).toMatchObject({
    code: "api_key_banned",
    retryAfter: (DAY_MS - (AT % DAY_MS)) / 1000,
  });
});

test("a plan that changes in mid-window keeps the count and takes the new limit", () => {
  const used = {
    ...newcomer,
    usage: { minute: { start: AT, count: 4 }, day: { start: AT - (AT % DAY_MS), count: 4 } },
  };
  expect(decideAdmission(used, AT)).toMatchObject({ outcome: "refused" });
  expect(decideAdmission({ ...used, terms: { plan: "pro" } }, AT)).toMatchObject({
    quota: { limit: 300, remaining: 295 },
  });
  expect(
    decideAdmission({ ...used, terms: { ...terms, customLimits: { perMinute: 2, perDay: 9 } } }, AT),
  ).toMatchObject({
    quota: { limit: 2, remaining: 0 },
  });
});

test.each([
  ["nobody", undefined, "no_such_key"],
  ["a revoked key", { ...newcomer, key: { ...newcomer.key, revokedAt: AT } }, "revoked"],
  ["an expired key", { ...newcomer, key: { ...newcomer.key, expiresAt: AT } }, "expired"],
  [
    "a plan that is not known (decision 13)",
    { ...newcomer, terms: { plan: "gold" as never } },
    "plan_without_limits",
  ],
  [
    "enterprise without limits (decision 13)",
    { ...newcomer, terms: { plan: "enterprise" as const } },
    "plan_without_limits",
  ],
])("%s is never let through", (_name, caller, reason) => {
  expect(decideAdmission(caller, AT)).toEqual({ outcome: "unknown", reason });
});
