import { expect, test } from "vitest";
import type { Account } from "../../../lib/accounts/account.ts";
import { NO_USAGE } from "../../../lib/plans/windows.ts";
import { accountModel, POLICY } from "./account-model.ts";
import { checkLinearizable } from "./checker.ts";

const AT = Date.UTC(2026, 10, 20);
const KEY = { id: "acme.first", hash: "acme first", createdAt: AT };
const ACCOUNT: Account = {
  ...{ id: "acme", plan: "enterprise", customLimits: { perMinute: 5, perDay: 9 } },
  ...{ keys: [KEY], usage: NO_USAGE, rejections: {} },
};

test("the model detects a store that forgets the count of rejections with the ban, or a ban that has not ended", () => {
  const banned = { windowStart: AT, count: 3, bannedUntil: AT + POLICY.durationMs };
  const initial: Account = {
    ...{ ...ACCOUNT, rejections: { [KEY.id]: banned } },
    usage: { minute: { start: AT, count: 1 }, day: { start: AT, count: 1 } },
  };
  const counted = { minute: { start: AT, count: 2 }, day: { start: AT, count: 2 } };
  const isValid = (at: number, found: Account) => {
    const admit = { account: "acme", kind: "admit", hash: KEY.hash, at } as const;
    const { result } = accountModel.step(initial, admit);
    return checkLinearizable(accountModel, initial, [
      { call: admit, invoked: 0n, completed: { at: 1n, result } },
      { call: { account: "acme", kind: "find" }, invoked: 2n, completed: { at: 3n, result: found } },
    ]).linearizable;
  };
  const { bannedUntil: ended, ...count } = banned;
  expect(isValid(ended, { ...initial, usage: counted })).toBe(true);
  expect(isValid(ended, { ...initial, usage: counted, rejections: { [KEY.id]: count } })).toBe(true);
  expect(isValid(ended, { ...initial, usage: counted, rejections: {} })).toBe(false);
  expect(isValid(ended - 1, initial)).toBe(true);
  expect(isValid(ended - 1, { ...initial, rejections: { [KEY.id]: count } })).toBe(false);
});
