import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decideAdmission, type KeyState, withoutOneRequest } from "../../lib/accounts/admission.ts";
import { DAY_MS, MINUTE_MS } from "../../lib/plans/windows.ts";
import { AT, save, unused } from "./admission-fixture.ts";

/** Instants in any order, close enough together to fill windows, sometimes a minute or a day apart. */
const instants = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: fc.integer({ min: 0, max: 3 * MINUTE_MS }) },
    { weight: 1, arbitrary: fc.integer({ min: -DAY_MS, max: 2 * DAY_MS }) },
  ),
  { minLength: 1, maxLength: 120 },
);

/** Instants that never go back. */
const ascendingInstants = instants.map((offsets) => offsets.toSorted((a, b) => a - b));

describe("for any sequence of requests", () => {
  test("no window admits more than its limit, and rejected requests count in none", () => {
    fc.assert(
      fc.property(ascendingInstants, (offsets) => {
        let state = unused;
        const admittedIn = new Map<string, number>();
        for (const offset of offsets) {
          const before = state;
          const decision = decideAdmission(state, AT + offset);
          state = save(state, decision);
          if (!decision.admission.ok) {
            expect(state.usage).toBe(before.usage);
            continue;
          }
          for (const [name, { start }] of Object.entries(state.usage)) {
            const count = (admittedIn.get(`${name}${start}`) ?? 0) + 1;
            admittedIn.set(`${name}${start}`, count);
            expect(count).toBeLessThanOrEqual(name === "minute" ? 4 : 9);
          }
        }
      }),
    );
  });

  test("a lone caller that waits for Retry-After is admitted, and the remaining quota is exact", () => {
    fc.assert(
      fc.property(ascendingInstants, (offsets) => {
        let state = unused;
        for (const offset of offsets) {
          const at = AT + offset;
          const decision = decideAdmission(state, at);
          const { admission } = decision;
          state = save(state, decision);
          if (admission.ok) {
            let next: KeyState = state;
            for (let left = admission.quota.remaining; left > 0; left--) {
              const further = decideAdmission(next, at);
              expect(further.admission.ok).toBe(true);
              next = save(next, further);
            }
            expect(decideAdmission(next, at).admission.ok).toBe(false);
          } else if (admission.code !== "invalid_api_key") {
            const { quota, retryAfterSeconds } = admission;
            expect(quota.remaining).toBe(0);
            expect(retryAfterSeconds).toBeGreaterThanOrEqual(1);
            expect(at + retryAfterSeconds * 1000).toBeGreaterThanOrEqual(quota.resetsAt);
            expect(decideAdmission(state, at + retryAfterSeconds * 1000).admission.ok).toBe(true);
            expect(decideAdmission(state, at).admission.ok, "not earlier").toBe(false);
          }
        }
      }),
    );
  });
});

test("a process whose clock is up to five minutes behind counts in the window that is already open", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 5 * MINUTE_MS }), (behind) => {
      const ahead = save(unused, decideAdmission(unused, AT + 5 * MINUTE_MS));
      const { usage } = save(ahead, decideAdmission(ahead, AT + 5 * MINUTE_MS - behind));
      expect(usage.minute).toEqual({ start: AT + 5 * MINUTE_MS, count: 2 });
    }),
  );
});

test("a window and a ban that a wrong clock wrote far in the future are ignored", () => {
  const future = AT + 365 * DAY_MS;
  const usage = {
    minute: { start: future, count: 4 },
    day: { start: future - (future % DAY_MS), count: 9 },
  };
  const rejections = { windowStart: future, count: 21, bannedUntil: future + 15 * MINUTE_MS };
  const { admission, save: changed } = decideAdmission({ ...unused, usage, rejections }, AT);
  expect(admission).toMatchObject({ ok: true, quota: { limit: 4, remaining: 3 } });
  expect(changed.usage?.minute).toEqual({ start: AT, count: 1 });
});

test("a ban of a process whose clock is five minutes ahead counts", () => {
  const ahead = AT + 5 * MINUTE_MS;
  const rejections = { windowStart: ahead, count: 21, bannedUntil: ahead + 15 * MINUTE_MS };
  expect(decideAdmission({ ...unused, rejections }, AT).admission).toMatchObject({ code: "api_key_banned" });
  expect(decideAdmission({ ...unused, rejections }, AT - 1).admission).toMatchObject({ ok: true });
});

test("withoutOneRequest() is the state before a request was counted", () => {
  const counted = save(unused, decideAdmission(unused, AT));
  const twice = save(counted, decideAdmission(counted, AT));
  expect(withoutOneRequest(twice)).toEqual(counted);
  expect(withoutOneRequest(unused)).toEqual(unused);
  expect(withoutOneRequest(undefined)).toBeUndefined();
});

test("a plan change within a window keeps the count and applies the new limit", () => {
  const used = {
    ...unused,
    usage: { minute: { start: AT, count: 4 }, day: { start: AT - (AT % DAY_MS), count: 4 } },
  };
  expect(decideAdmission(used, AT).admission).toMatchObject({ code: "rate_limit_exceeded" });
  expect(decideAdmission({ ...used, plan: "pro" }, AT).admission).toMatchObject({
    quota: { limit: 300, remaining: 295 },
  });
  expect(decideAdmission({ ...used, customLimits: { perMinute: 2, perDay: 9 } }, AT).admission).toMatchObject(
    { quota: { limit: 2, remaining: 0 } },
  );
});

const { customLimits: _none, ...withoutLimits } = unused;
test.each([
  ["an unknown key", undefined, "unknown_key"],
  ["a revoked key", { ...unused, key: { ...unused.key, revokedAt: AT } }, "unknown_key"],
  [
    "a key that a clock ahead has revoked",
    { ...unused, key: { ...unused.key, revokedAt: AT + 1 } },
    "unknown_key",
  ],
  ["an expired key", { ...unused, key: { ...unused.key, expiresAt: AT } }, "expired"],
  ["a key on an unknown plan", { ...unused, plan: "gold" as never }, "plan_without_limits"],
  ["an enterprise key without limits", withoutLimits, "plan_without_limits"],
])("%s is never admitted", (_name, state, reason) => {
  const admission = { ok: false, code: "invalid_api_key", reason };
  expect(decideAdmission(state, AT)).toEqual({ admission, save: {} });
});
