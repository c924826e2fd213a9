import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  BAN_GRACE_MS,
  DEFAULT_BAN_POLICY,
  type Decision,
  decideAdmission,
  decideRejections,
  type KeyState,
  MAX_BAN_MS,
  validateBanPolicy,
  withoutOneRequest,
} from "../../lib/accounts/admission.ts";
import { DAY_MS, MINUTE_MS, NO_USAGE } from "../../lib/plans/windows.ts";

const AT = Date.UTC(2026, 10, 20, 12);
const unused: KeyState = {
  accountId: "acme",
  plan: "enterprise",
  customLimits: { perMinute: 4, perDay: 9 },
  usage: NO_USAGE,
  key: { id: "acme.1", hash: "0", createdAt: 0 },
};

/** Saves a decision, as a store does. */
function save(state: KeyState, { save: changed }: Decision): KeyState {
  const { usage = state.usage, rejections = state.rejections } = changed;
  return { ...state, usage, rejections };
}

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
  const day = { start: future - (future % DAY_MS), count: 9 };
  const usage = { minute: { start: future, count: 4 }, day };
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

const used: KeyState = {
  ...unused,
  usage: { minute: { start: AT, count: 4 }, day: { start: AT - (AT % DAY_MS), count: 4 } },
};

test("a plan change within a window keeps the count and applies the new limit", () => {
  expect(decideAdmission(used, AT).admission).toMatchObject({ code: "rate_limit_exceeded" });
  const quotaOf = (state: KeyState) => decideAdmission(state, AT).admission;
  expect(quotaOf({ ...used, plan: "pro" })).toMatchObject({ quota: { limit: 300, remaining: 295 } });
  const customLimits = { perMinute: 2, perDay: 9 };
  expect(quotaOf({ ...used, customLimits })).toMatchObject({ quota: { limit: 2, remaining: 0 } });
});

const { customLimits: _none, ...withoutLimits } = unused;
const revokedAt = (instant: number) => ({ ...unused, key: { ...unused.key, revokedAt: instant } });
test.each([
  ["an unknown key", undefined, "unknown_key"],
  ["a revoked key", revokedAt(AT), "unknown_key"],
  ["a key that a clock ahead has revoked", revokedAt(AT + 1), "unknown_key"],
  ["an expired key", { ...unused, key: { ...unused.key, expiresAt: AT } }, "expired"],
  ["a key on an unknown plan", { ...unused, plan: "gold" as never }, "plan_without_limits"],
  ["an enterprise key without limits", withoutLimits, "plan_without_limits"],
])("%s is never admitted", (_name, state, reason) => {
  const admission = { ok: false, code: "invalid_api_key", reason };
  expect(decideAdmission(state, AT)).toEqual({ admission, save: {} });
});

test("what is rejected within 10 seconds of the first rejection of a minute changes nothing, and after that it counts", () => {
  const first = decideAdmission(used, AT + 100);
  const rejections = { windowStart: AT, count: 0, firstAt: AT + 100 };
  const admission = { code: "rate_limit_exceeded", rejections };
  expect(first).toMatchObject({ admission, save: { rejections } });
  const state = save(used, first);
  for (const at of [AT + 100, AT + 100 + BAN_GRACE_MS - 1, AT])
    expect(decideAdmission(state, at)).toMatchObject({ admission, save: {} });
  // By a clock that is far behind.
  const ahead = { ...state, rejections: { ...rejections, firstAt: AT + 50_000 } };
  expect(decideAdmission(ahead, AT + 39_999).save.rejections?.count).toBe(1);
  expect(decideAdmission(ahead, AT + 40_000).save).toEqual({});
  const counted = decideAdmission(state, AT + 100 + BAN_GRACE_MS);
  expect(counted.save).toEqual({ rejections: { windowStart: AT, count: 1 } });
  expect(decideAdmission(save(state, counted), AT + 200).save.rejections?.count).toBe(2);
  const usage = { minute: { start: AT + MINUTE_MS, count: 4 }, day: used.usage.day };
  const next = decideAdmission({ ...save(state, counted), usage }, AT + MINUTE_MS);
  const begun = { windowStart: AT + MINUTE_MS, count: 0, firstAt: AT + MINUTE_MS };
  expect(next.save.rejections).toEqual(begun);
});

test("more than 20 rejected requests in one minute that count ban the key for 15 minutes, with the rejection that exceeds the limit", () => {
  expect(DEFAULT_BAN_POLICY).toEqual({ maxRejections: 20, durationMs: 15 * MINUTE_MS });
  let state: KeyState = { ...used, rejections: { windowStart: AT, count: 0, firstAt: AT - BAN_GRACE_MS } };
  for (let count = 1; count <= 20; count++) {
    const decision = decideAdmission(state, AT + count);
    expect(decision).toMatchObject({
      admission: { code: "rate_limit_exceeded", startsBan: false, rejections: { count } },
      save: { rejections: { windowStart: AT, count } },
    });
    state = save(state, decision);
  }
  const ban = decideAdmission(state, AT + 500);
  const until = AT + 500 + 15 * MINUTE_MS;
  const quota = { limit: 4, remaining: 0, resetsAt: until };
  expect(ban).toMatchObject({
    admission: { code: "api_key_banned", startsBan: true, retryAfterSeconds: 900, quota },
    save: { rejections: { count: 21, bannedUntil: until } },
  });
  state = save(state, ban);
  expect(decideAdmission(state, until - 1)).toMatchObject({
    admission: { code: "api_key_banned", startsBan: false, retryAfterSeconds: 1 },
    save: {},
  });
  expect(decideAdmission(state, until).admission.ok).toBe(true);
});

test("a ban that ends before the day's window reports the longer wait", () => {
  const usage = { minute: { start: AT, count: 4 }, day: { start: AT - (AT % DAY_MS), count: 9 } };
  const rejections = { windowStart: AT, count: 21, bannedUntil: AT + 15 * MINUTE_MS };
  expect(decideAdmission({ ...unused, usage, rejections }, AT).admission).toMatchObject({
    code: "api_key_banned",
    retryAfterSeconds: (DAY_MS - (AT % DAY_MS)) / 1000,
  });
});

describe("recorded rejections", () => {
  test("recorded rejections add to the count of the minute and start a ban beyond the limit", () => {
    const state = { ...unused, rejections: { windowStart: AT, count: 15 } };
    expect(decideRejections(state, 5, AT)).toEqual({ windowStart: AT, count: 20 });
    const bannedUntil = AT + 15 * MINUTE_MS;
    expect(decideRejections(state, 6, AT)).toEqual({ windowStart: AT, count: 21, bannedUntil });
    expect(decideRejections(state, 5, AT + MINUTE_MS)).toEqual({ windowStart: AT + MINUTE_MS, count: 5 });
  });

  test("rejections of unknown, inactive and banned keys are not counted", () => {
    expect(decideRejections(undefined, 5, AT)).toBeUndefined();
    expect(decideRejections(revokedAt(AT), 5, AT)).toBeUndefined();
    const rejections = { windowStart: AT, count: 21, bannedUntil: AT + 1 };
    expect(decideRejections({ ...unused, rejections }, 5, AT)).toBeUndefined();
  });
});

describe("a ban policy", () => {
  test.each([
    [0, 1],
    [20, 15 * MINUTE_MS],
    [7, MAX_BAN_MS],
  ])("of %d rejections and %d ms is valid", (maxRejections, durationMs) => {
    expect(() => validateBanPolicy({ maxRejections, durationMs })).not.toThrow();
  });

  const rejections = "banPolicy.maxRejections: Give a whole number of at least 0.";
  const duration = "banPolicy.durationMs: Give whole milliseconds, from 1 to 7776000000 (90 days).";
  test.each([
    [-1, 1, rejections],
    [1.5, 1, rejections],
    [undefined, 1, rejections],
    [1, 0, duration],
    [1, 0.5, duration],
    [1, MAX_BAN_MS + 1, duration],
    [-1, Number.NaN, `${rejections} ${duration}`],
  ])("of %s rejections and %s ms is rejected with what to write", (maxRejections, durationMs, message) => {
    const validate = () => validateBanPolicy({ maxRejections: maxRejections as number, durationMs });
    expect(validate).toThrow(expect.objectContaining({ code: "invalid_input", message }));
  });
});
