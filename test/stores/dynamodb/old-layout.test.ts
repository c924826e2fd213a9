import { GetItemCommand, PutItemCommand } from "@aws-sdk/client-dynamodb";
import { beforeEach, expect, test } from "vitest";
import { addKey, revokeKey } from "../../../lib/accounts/account.ts";
import { DAY_MS, MINUTE_MS } from "../../../lib/plans/windows.ts";
import { createDynamodbStore, createDynamodbTables } from "../../../lib/stores/dynamodb/index.ts";
import type { Item } from "../../../lib/stores/dynamodb/item.ts";
import type { Store } from "../../../lib/stores/store.ts";
import { clientFor } from "../../support/dynamodb/emulator.ts";
import { useEmulator } from "../../support/dynamodb/use-emulator.ts";

const AT = Date.UTC(2026, 10, 20, 12);
const [ACTIVE, EXPIRING, REVOKED, BANNED] = ["1", "2", "3", "4"].map((digit) => digit.repeat(64)) as [
  string,
  string,
  string,
  string,
];

const emulator = useEmulator();
let store: Store;
let prefix: string;
let cases = 0;

beforeEach(async () => {
  prefix = `old-${cases++}`;
  await createDynamodbTables({ prefix, client: emulator.client, buckets: 1 });
  store = createDynamodbStore({ prefix, client: emulator.client });
  await emulator.client.send(new PutItemCommand({ TableName: `${prefix}-accounts`, Item: oldItem() }));
});

/** An account as it was stored before there were two items. */
function oldItem(): Item {
  const number = (value: number) => ({ N: `${value}` });
  const key = (name: string, position: number, dates: Item = {}) => ({
    M: { id: { S: `acme.${name}` }, position: number(position), createdAt: number(AT - DAY_MS), ...dates },
  });
  const penalty = { start: number(AT), refused: number(21), bannedUntil: number(AT + 15 * MINUTE_MS) };
  return {
    ...{ id: { S: "acme" }, plan: { S: "free" }, revision: { S: "before" } },
    ...{ minute: number(AT), minuteCount: number(58), day: number(AT), dayCount: number(58) },
    keys: {
      M: {
        [REVOKED]: key("revoked", 0, { revokedAt: number(AT - 1) }),
        [ACTIVE]: key("active", 1),
        [EXPIRING]: key("expiring", 2, { expiresAt: number(AT + 10), successorId: { S: "acme.active" } }),
        [BANNED]: key("banned", 3),
      },
    },
    penalties: { M: { [BANNED]: { M: { ...penalty, tokens: { L: [] } } } } },
  };
}

async function outcome(hash: string, at = AT): Promise<string> {
  const admission = await store.accounts.admit({ accountId: "acme", hash }, at);
  if (admission.ok) return `${admission.caller.keyId}, ${admission.quota.remaining} left`;
  return admission.code === "invalid_api_key" ? admission.reason : admission.code;
}

test("an account in the old layout is admitted, limited, rejected and banned", async () => {
  expect(await outcome(REVOKED)).toBe("unknown_key");
  expect(await outcome(BANNED)).toBe("api_key_banned");
  expect(await outcome(EXPIRING)).toBe("acme.expiring, 1 left");
  expect(await outcome(EXPIRING, AT + 10)).toBe("expired");
  expect(await outcome(ACTIVE)).toBe("acme.active, 0 left");
  for (let rejection = 1; rejection <= 20; rejection++)
    expect(await outcome(ACTIVE)).toBe("rate_limit_exceeded");
  expect(await outcome(ACTIVE)).toBe("api_key_banned");
  await store.accounts.unban("acme", "acme.active");
  expect(await outcome(ACTIVE, AT + MINUTE_MS)).toBe("acme.active, 59 left");
  expect((await store.accounts.find("acme"))?.usage.day.count).toBe(61);
});

test("the next change converts it, and keeps its keys, its counters and its bans", async () => {
  const before = await store.accounts.find("acme");
  const key = { id: "acme.new", hash: "5".repeat(64), createdAt: AT };
  expect(await store.accounts.update("acme", (account) => addKey(account, key, AT - 1))).toMatchObject({
    ok: true,
  });
  const { Item: item } = await emulator.client.send(
    new GetItemCommand({ TableName: `${prefix}-accounts`, Key: { id: { S: "acme" } } }),
  );
  expect(item).not.toHaveProperty("penalties");
  expect(await store.accounts.find("acme")).toEqual({ ...before, keys: [...(before?.keys ?? []), key] });
  expect(await outcome(REVOKED)).toBe("unknown_key");
  expect(await outcome(BANNED, AT + MINUTE_MS)).toBe("api_key_banned");
  expect(await outcome(EXPIRING)).toBe("acme.expiring, 1 left");
  expect(await outcome(key.hash)).toBe("acme.new, 0 left");
  expect(await outcome(EXPIRING, AT + 10)).toBe("expired");
  expect(await outcome(ACTIVE)).toBe("rate_limit_exceeded");
  await store.accounts.update("acme", (account) => revokeKey(account, "acme.active", AT));
  expect(await outcome(ACTIVE)).toBe("unknown_key");
});

test("a ban that starts while it is converted is kept", async () => {
  let isBanned = false;
  const changing = clientFor(emulator.endpoint);
  changing.middlewareStack.add(
    (next, { commandName }) =>
      async (request) => {
        if (commandName === "UpdateItemCommand" && !isBanned) {
          isBanned = true;
          await store.accounts.recordRejections({ accountId: "acme", hash: ACTIVE }, 21, AT);
        }
        return next(request);
      },
    { step: "initialize" },
  );
  const other = createDynamodbStore({ prefix, client: changing });
  await other.accounts.update("acme", (account) => ({
    ok: true,
    account: { ...account, keys: account.keys.slice(1) },
  }));
  changing.destroy();
  expect(isBanned).toBe(true);
  expect(await outcome(ACTIVE, AT + MINUTE_MS)).toBe("api_key_banned");
  expect((await store.accounts.find("acme"))?.keys).toHaveLength(3);
});

test("a change of the plan alone converts it too", async () => {
  await store.accounts.update("acme", (account) => ({ ok: true, account: { ...account, plan: "pro" } }));
  expect(await outcome(ACTIVE)).toBe("acme.active, 241 left");
  expect((await store.accounts.find("acme"))?.keys.map(({ id }) => id)).toEqual([
    ...["acme.revoked", "acme.active", "acme.expiring", "acme.banned"],
  ]);
});
