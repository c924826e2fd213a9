import { type DynamoDBClient, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import type { AccountStore } from "../../../lib/accounts/account-store.ts";
import { BAN_GRACE_MS, decideAdmission } from "../../../lib/accounts/admission.ts";
import { type ParsedKey, shortHash } from "../../../lib/accounts/api-key.ts";
import { DAY_MS, MINUTE_MS } from "../../../lib/plans/windows.ts";
import { createAdmission } from "../../../lib/stores/dynamodb/admission.ts";
import {
  keyEntries,
  keyStateOf,
  MAX_COUNT,
  planAttributes,
} from "../../../lib/stores/dynamodb/admission-item.ts";
import { createDynamodbStore, createDynamodbTables } from "../../../lib/stores/dynamodb/index.ts";
import { createTableClient, type Item, numberValue } from "../../../lib/stores/dynamodb/table.ts";
import { clientOverItem } from "../../support/dynamodb/evaluated-conditions.ts";
import { useEmulator } from "../../support/dynamodb/use-emulator.ts";

const MIDNIGHT = Date.UTC(2026, 10, 20);
const HASH = "1".repeat(64);
const KEY: ParsedKey = { accountId: "acme", hash: HASH };
const PLANS = {
  small: { perMinute: 2, perDay: 4 },
  large: { perMinute: 4, perDay: 3 },
  own: "custom",
} as const;
const POLICY = { maxRejections: 2, durationMs: 2 * MINUTE_MS, plans: PLANS };

/** At and beside the boundaries of a day, of a minute and of the tolerated clock skew. */
const anyInstant = fc
  .tuple(fc.constantFrom(-DAY_MS, -5 * MINUTE_MS, -MINUTE_MS, 0, 10_000), fc.constantFrom(-1, 0, 1))
  .map(([distance, beside]) => MIDNIGHT + distance + beside);

/** An item whose windows, expiry and ban are at the instant of the request, or beside a boundary. */
const anyItemAt = (at: number): fc.Arbitrary<Item> => {
  const soon = fc.constantFrom(at - 1, at, at + 1, at + MINUTE_MS);
  const minute = fc
    .constantFrom(0, 0, 0, -1, 1, 4, 5, 6)
    .map((minutes) => at - (at % MINUTE_MS) + minutes * MINUTE_MS);
  const day = fc.constantFrom(0, 0, 0, -1, 1).map((days) => at - (at % DAY_MS) + days * DAY_MS);
  const count = fc.constantFrom(0, 1, 2, 3, 4).map(numberValue);
  const rejections = fc.oneof(
    fc.record(
      { windowStart: minute, count: fc.constantFrom(1, 2, 3, MAX_COUNT), bannedUntil: soon },
      { requiredKeys: ["windowStart", "count"] },
    ),
    fc
      .tuple(minute, fc.constantFrom(at - BAN_GRACE_MS, at - BAN_GRACE_MS + 1, at, at + 1))
      .map(([windowStart, first]) => {
        const firstAt = Math.min(Math.max(first, windowStart), windowStart + MINUTE_MS - 1);
        return { windowStart, count: 0, firstAt };
      }),
  );
  return fc
    .record({
      plan: fc.constantFrom(
        { plan: "small" },
        { plan: "large" },
        { plan: "own" },
        { plan: "own", customLimits: { perMinute: 3, perDay: 3 } },
        { plan: "unknown" },
      ),
      usage: fc.record({
        ...{ minute: minute.map(numberValue), minuteCount: count },
        ...{ day: day.map(numberValue), dayCount: count },
      }),
      // Most requests get past their key.
      hash: fc.constantFrom(...Array<string>(7).fill(HASH), "2".repeat(64)),
      expiresAt: fc.option(soon, { nil: undefined, freq: 1 }),
      rejections: fc.option(rejections, { nil: undefined }),
    })
    .map(({ plan, usage, hash, expiresAt, rejections }) => ({
      ...{ id: { S: "acme" }, revision: { S: "first" }, tokens: { L: [] } },
      ...planAttributes(plan),
      ...usage,
      keys: { M: keyEntries([{ name: shortHash(hash), id: "acme.first", expiresAt, rejections }]) },
    }));
};

const anyRequest = anyInstant.chain((at) => anyItemAt(at).map((item) => ({ at, item })));

test("the condition of the first write holds exactly if the decision counts a request in the stored windows, and that of the second if it saves something else", async () => {
  const outcomes = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(anyRequest, async ({ at, item }) => {
      const { client, writes } = clientOverItem(item);
      const admission = await createAdmission(createTableClient(client, "accounts")).admit(KEY, at, POLICY);
      const state = keyStateOf(item, HASH);
      const decision = decideAdmission(state, at, POLICY);
      expect(admission).toEqual(decision.admission);
      const { usage, rejections } = decision.save;
      const isFirst =
        usage?.minute.start === state?.usage.minute.start &&
        usage?.day.start === state?.usage.day.start &&
        state?.rejections?.bannedUntil === undefined;
      const expected =
        usage === undefined && rejections === undefined ? [false] : isFirst ? [true] : [false, true];
      expect(writes).toEqual(expected);
      const outcome = `${admission.ok || admission.code} ${writes}`;
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    }),
    { numRuns: 700 },
  );
  expect([...outcomes.keys()].toSorted()).toEqual([
    "api_key_banned false",
    "api_key_banned false,true",
    "invalid_api_key false",
    "rate_limit_exceeded false",
    "rate_limit_exceeded false,true",
    "true false,true",
    "true true",
  ]);
});

const emulator = useEmulator();

describe("a write of an account that is repeated because its response was lost", () => {
  let accounts: AccountStore;
  let repeating: AccountStore;
  let cases = 0;
  const limits = { perMinute: 2, perDay: 100 };
  beforeEach(async () => {
    const prefix = `repeated-${cases++}`;
    await createDynamodbTables({ prefix, client: emulator.client });
    accounts = createDynamodbStore({ prefix, client: emulator.client }).accounts;
    repeating = createDynamodbStore({ prefix, client: sendsTwice(emulator.client) }).accounts;
    const keys = [{ id: "acme.first", hash: HASH, createdAt: 0 }];
    await accounts.create({ id: "acme", plan: "own", customLimits: limits, keys });
  });
  const rejections = async () => (await accounts.find("acme"))?.rejections["acme.first"];

  test("rejects a request with the count that it recorded, and bans at the limit of the policy for its time", async () => {
    for (let request = 0; request < 2; request++) await accounts.admit(KEY, MIDNIGHT, POLICY);
    expect(await repeating.admit(KEY, MIDNIGHT, POLICY)).toMatchObject({ code: "rate_limit_exceeded" });
    expect(await rejections()).toEqual({ windowStart: MIDNIGHT, count: 0, firstAt: MIDNIGHT });
    const at = MIDNIGHT + BAN_GRACE_MS;
    for (const count of [1, 2]) {
      const admission = await repeating.admit(KEY, at, POLICY);
      expect(admission).toMatchObject({ code: "rate_limit_exceeded", rejections: { count } });
    }
    const bannedUntil = at + POLICY.durationMs;
    const third = await repeating.admit(KEY, at, POLICY);
    expect(third).toMatchObject({
      code: "api_key_banned",
      startsBan: true,
      rejections: { count: 3, bannedUntil },
    });
    expect(await rejections()).toEqual({ windowStart: MIDNIGHT, count: 3, bannedUntil });
  });

  test("records rejections, and succeeds", async () => {
    await repeating.recordRejections(KEY, 2, MIDNIGHT, POLICY);
    expect(await rejections()).toEqual({ windowStart: MIDNIGHT, count: 2 });
  });

  test("rejections beyond the highest count that an item holds are recorded as that count", async () => {
    const lenient = { ...POLICY, maxRejections: 1_000_000 };
    for (const count of [MAX_COUNT - 1, 1, 5, 1])
      await accounts.recordRejections(KEY, count, MIDNIGHT, lenient);
    expect(await rejections()).toEqual({ windowStart: MIDNIGHT, count: MAX_COUNT });
  });
});

test("a request fails as unavailable after eight writes that were all too late", async () => {
  let writes = 0;
  const send = async () => {
    const counted = { minuteCount: numberValue(writes++), dayCount: numberValue(0) };
    const windows = { minute: numberValue(0), day: numberValue(0) };
    const keys = { M: keyEntries([{ name: shortHash(HASH), id: "acme.first" }]) };
    const Item = { ...planAttributes({ plan: "free" }), id: { S: "acme" }, keys, ...windows, ...counted };
    throw Object.assign(new Error("The condition failed."), {
      name: "ConditionalCheckFailedException",
      Item,
    });
  };
  const table = createTableClient({ send } as unknown as DynamoDBClient, "accounts");
  await expect(createAdmission(table).admit(KEY, MIDNIGHT)).rejects.toMatchObject({
    code: "store_unavailable",
    message: "Other processes kept changing the same item.",
  });
  expect(writes).toBe(8);
});

/** A client whose every write is applied, and then sent again, as the AWS client does if the response was lost. */
function sendsTwice(client: DynamoDBClient): DynamoDBClient {
  const send = async (command: UpdateItemCommand, options: object) => {
    if (command instanceof UpdateItemCommand)
      await client.send(new UpdateItemCommand(command.input)).catch(() => {});
    return client.send(command, options);
  };
  return { send } as unknown as DynamoDBClient;
}
