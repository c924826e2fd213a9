import { describe, expect, test } from "vitest";
import {
  ACCOUNT_ERRORS,
  type Account,
  type AccountSettings,
  type ApiKey,
  addKey,
  banEndAt,
  explainAccountError,
  rotateKey,
} from "../../lib/accounts/account.ts";
import { viewAccount } from "../../lib/accounts/account-view.ts";
import { DAY_MS, MINUTE_MS, NO_USAGE } from "../../lib/plans/windows.ts";

const AT = Date.UTC(2026, 10, 20, 12);
const KEY: ApiKey = { id: "acme.1", hash: "1".repeat(64), createdAt: AT };
const SUCCESSOR = { id: "acme.2", hash: "2".repeat(64) };
const SETTINGS: AccountSettings = { id: "acme", plan: "free", keys: [KEY] };

describe("a change that is applied again, because the response to the first time was lost", () => {
  test("adds a key once", () => {
    const other = { ...KEY, ...SUCCESSOR };
    const added = addKey(SETTINGS, other, AT);
    expect(added).toEqual({ ok: true, account: { ...SETTINGS, keys: [KEY, other] } });
    expect(added.ok && addKey(added.account, other, AT)).toEqual(added);
  });

  test("rotates a key once, also if the old key has expired since", () => {
    const rotated = rotateKey(SETTINGS, KEY.id, SUCCESSOR, 0, AT);
    expect(rotated).toMatchObject({ ok: true, account: { keys: [{ expiresAt: AT }, SUCCESSOR] } });
    expect(rotated.ok && rotateKey(rotated.account, KEY.id, SUCCESSOR, 0, AT + 1)).toEqual(rotated);
  });

  test("does not take another key with the same identifier for the same key", () => {
    const added = addKey(SETTINGS, { ...KEY, hash: SUCCESSOR.hash }, AT);
    expect(added.ok && added.account.keys).toHaveLength(2);
  });
});

test("a failure is explained with a sentence, and that of a rotated key names its successor", () => {
  expect(explainAccountError({ ok: false, code: "key_not_active" })).toBe(ACCOUNT_ERRORS.key_not_active);
  expect(explainAccountError({ ok: false, code: "key_already_rotated", successorId: "acme.2" })).toBe(
    "The key has already been rotated. Use its successor, acme.2.",
  );
});

test("the usage of an account is that of its current windows, and an account without limits has none left", () => {
  const usage = { minute: { start: AT, count: 7 }, day: { start: AT - (AT % DAY_MS), count: 900 } };
  const account: Account = { ...SETTINGS, usage, rejections: {} };
  const resetsAt = AT - (AT % DAY_MS) + DAY_MS;
  expect(viewAccount(account, AT)).toMatchObject({
    minute: { used: 7, limit: 60, remaining: 53, resetsAt: AT + MINUTE_MS },
    day: { used: 900, limit: 1_000, remaining: 100, resetsAt },
  });
  expect(viewAccount(account, AT + MINUTE_MS).minute).toMatchObject({ used: 0, remaining: 60 });
  expect(viewAccount(account, AT, { gold: { perMinute: 1, perDay: 1 } })).toMatchObject({
    minute: { used: 7, limit: 0, remaining: 0 },
    day: { used: 900, limit: 0, remaining: 0 },
  });
});

test.each([
  ["active", {}, 0],
  ["active", { expiresAt: AT + 1 }, AT],
  ["banned", {}, AT + 1],
  ["expired", { expiresAt: AT }, AT + 1],
  ["revoked", { revokedAt: AT }, AT + 1],
  ["revoked", { revokedAt: AT, expiresAt: AT }, 0],
])("a key is %s if it has %j and a ban until %d", (status, times, bannedUntil) => {
  const rejections = { [KEY.id]: { windowStart: AT, count: 21, bannedUntil } };
  const account = { ...SETTINGS, keys: [{ ...KEY, ...times }], usage: NO_USAGE, rejections };
  expect(viewAccount(account, AT).keys).toMatchObject([{ id: KEY.id, status }]);
});

test.each([
  ["no rejections", undefined, 0],
  ["rejections without a ban", { windowStart: AT, count: 3 }, 0],
  ["a ban", { windowStart: AT, count: 21, bannedUntil: AT + 1 }, AT + 1],
  ["a ban that has ended", { windowStart: AT, count: 21, bannedUntil: AT }, 0],
  [
    "a ban of a clock that is five minutes ahead",
    { windowStart: AT + 300_000, count: 21, bannedUntil: AT + 1e6 },
    AT + 1e6,
  ],
  [
    "a ban of a clock that is further ahead",
    { windowStart: AT + 300_001, count: 21, bannedUntil: AT + 1e6 },
    0,
  ],
])("the end of a ban, with %s", (_name, rejections, end) => {
  expect(banEndAt(rejections, AT)).toBe(end);
});
