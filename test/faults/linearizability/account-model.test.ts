import { beforeAll, expect, test } from "vitest";
import type { Account } from "../../../lib/accounts/account.ts";
import { DAY_MS, MINUTE_MS, NO_USAGE } from "../../../lib/plans/windows.ts";
import { createDynamodbStore, createDynamodbTables } from "../../../lib/stores/dynamodb/index.ts";
import { createSqliteStore } from "../../../lib/stores/sqlite/index.ts";
import type { Store } from "../../../lib/stores/store.ts";
import { useEmulator } from "../../support/dynamodb/use-emulator.ts";
import {
  type AccountCall,
  type AccountCallResult,
  accountModel,
  callAccount,
  POLICY,
} from "./account-model.ts";
import { checkLinearizable } from "./checker.ts";
import type { Operation } from "./history.ts";

const AT = Date.UTC(2026, 10, 20);
const KEY = { id: "acme.first", hash: "acme first", createdAt: AT };
const ACCOUNT: Account = {
  ...{ id: "acme", plan: "enterprise", customLimits: { perMinute: 5, perDay: 9 } },
  ...{ keys: [KEY], usage: NO_USAGE, rejections: {} },
};

const emulator = useEmulator();
beforeAll(() => createDynamodbTables({ prefix: "shop", client: emulator.client }));

const STORES: Readonly<Record<string, () => Store>> = {
  SQLite: () => createSqliteStore({ path: ":memory:" }),
  DynamoDB: () => createDynamodbStore({ prefix: "shop", client: emulator.client }),
};

/** Performs the calls one after another on a store. */
async function historyOf(store: Store, id: string, calls: readonly AccountCall[]) {
  await store.accounts.create({ ...ACCOUNT, id });
  const history: Operation<AccountCall, AccountCallResult>[] = [];
  for (const [index, call] of calls.entries()) {
    const result = await callAccount(store.accounts, call);
    const at = BigInt(2 * index + 1);
    history.push({ call, invoked: at - 1n, completed: { at, result } });
  }
  return history;
}

/** Bans the key, and calls again after the end of the ban. */
function callsAround(id: string, afterBan: number): readonly AccountCall[] {
  const admit = { account: id, kind: "admit", hash: KEY.hash } as const;
  const find = { account: id, kind: "find" } as const;
  const rejected = { account: id, kind: "recordRejections", hash: KEY.hash, count: 3 } as const;
  return [
    { ...admit, at: AT },
    { ...rejected, at: AT },
    find,
    { ...admit, at: AT + POLICY.durationMs - 1 },
    { ...admit, at: AT + afterBan },
    find,
    { ...admit, at: AT + afterBan },
    find,
  ];
}

for (const [name, open] of Object.entries(STORES)) {
  test.for([
    ["in the minute of its rejections", POLICY.durationMs],
    ["in the next minute", MINUTE_MS],
    ["on the next day", DAY_MS],
  ] as const)(`${name}: a request after a ban has ended, %s, is as the model says`, async ([, afterBan]) => {
    const store = open();
    const id = `account-${afterBan}`;
    const history = await historyOf(store, id, callsAround(id, afterBan));
    expect(checkLinearizable(accountModel, { ...ACCOUNT, id }, history)).toEqual({ linearizable: true });
    await store.close();
  });
}

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
