import { describe, expect, test } from "vitest";
import {
  DEFAULT_BAN_POLICY,
  decideAdmission,
  decideRejections,
  type KeyState,
  MAX_BAN_MS,
  validateBanPolicy,
} from "../../lib/accounts/admission.ts";
import { DAY_MS, MINUTE_MS } from "../../lib/plans/windows.ts";
import { AT, save, unused } from "./admission-fixture.ts";

test("more than 20 rejected requests in one minute ban the key for 15 minutes, with the rejection that exceeds the limit", () => {
  expect(DEFAULT_BAN_POLICY).toEqual({ maxRejections: 20, durationMs: 15 * MINUTE_MS });
  let state: KeyState = {
    ...unused,
    usage: { minute: { start: AT, count: 4 }, day: { start: AT - (AT % DAY_MS), count: 4 } },
  };
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
  expect(ban).toMatchObject({
    admission: {
      code: "api_key_banned",
      startsBan: true,
      retryAfterSeconds: 900,
      quota: { limit: 4, remaining: 0, resetsAt: until },
    },
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
    const revoked = { ...unused, key: { ...unused.key, revokedAt: AT } };
    expect(decideRejections(revoked, 5, AT)).toBeUndefined();
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
