import { expect, test } from "vitest";
import type { Account, ApiKey } from "../../lib/accounts/account.ts";
import { MAX_BAN_MS } from "../../lib/accounts/admission.ts";
import { type OrderChange, unpackChanges } from "../../lib/orders/history.ts";
import { LIFECYCLE } from "../../lib/orders/lifecycle.ts";
import { PLAN_LIMITS } from "../../lib/plans/plan-limits.ts";
import { DAY_MS, MINUTE_MS } from "../../lib/plans/windows.ts";
import { type CheckProgress, checkDatabase, type InspectedOrder } from "../../lib/stores/check.ts";

const AT = Date.UTC(2026, 10, 20, 12);
const TODAY = Date.UTC(2026, 10, 20);

const keyOf = (number: number, more: Partial<ApiKey> = {}): ApiKey => ({
  ...{ id: `acme.${number}`, hash: `${number}`.padStart(64, "0"), createdAt: AT },
  ...more,
});
const keysOf = (count: number) => Array.from({ length: count }, (_, number) => keyOf(number));
const usageOf = (minuteStart: number, minuteCount: number, dayStart: number, dayCount: number) => ({
  usage: { minute: { start: minuteStart, count: minuteCount }, day: { start: dayStart, count: dayCount } },
});
const rejectionsOf = (windowStart: number, count: number, bannedUntil?: number) => ({
  rejections: { "acme.1": { windowStart, count, ...(bannedUntil !== undefined && { bannedUntil }) } },
});

/** The findings of a database with one account and these orders, and what was reported of the progress. */
async function check(account: Partial<Account>, orders: readonly InspectedOrder[] = []) {
  const found: unknown[] = [];
  const progress: CheckProgress[] = [];
  const healthy = { id: "acme", plan: "free", keys: [], ...usageOf(0, 0, 0, 0), rejections: {} };
  await checkDatabase(
    {
      inspect: async () => true,
      async *orders() {
        yield orders;
      },
      async *accounts() {
        yield { ...healthy, ...account };
      },
      async close() {},
    },
    {
      ...{ at: AT, plans: PLAN_LIMITS },
      report: ({ subject, problem, repair }) => found.push(`${subject}: ${problem} ${repair}`),
      update: (counts) => progress.push({ ...counts }),
    },
  );
  return { found, progress };
}

const RESET = "Run 'accounts reset acme'; a wrong start is replaced when the window ends.";
const ofKeys = (...ids: readonly string[]) =>
  ids.map(
    (id) =>
      `key ${id}: Its identifier, hash or dates are not those of a key of this account. ` +
      "Revoke the key, and issue another one: 'keys list --account acme'.",
  );
const impossible = (window: string) => `account acme: The window of its ${window}, is impossible. ${RESET}`;
const withoutLimits = (plan: string, problem: string) =>
  `account acme: The plan '${plan}' gives it no limits, so its keys are rejected. plan: ${problem} ` +
  "Give the file of your own plans with --plans; otherwise run 'accounts set-plan acme'.";
const tooMany = `account acme: It has 7 requests in a minute of a day that has 6. ${RESET}`;
const impossibleBan = "key acme.1: Its rejections or its ban are impossible. Run 'keys unban acme.1'.";

type Row = readonly [name: string, account: Partial<Account>, ...findings: readonly string[]];
test.each<Row>([
  [
    "every active key that is possible, beside inactive ones",
    { keys: [...keysOf(20), keyOf(20, { revokedAt: AT }), keyOf(21, { expiresAt: AT })] },
  ],
  ["windows in the future, which the next request replaces", usageOf(AT + DAY_MS, 0, TODAY + DAY_MS, 0)],
  ["as many requests in a minute as in its day", usageOf(TODAY, 7, TODAY, 7)],
  ["more requests in a minute before its day", usageOf(TODAY - MINUTE_MS, 7, TODAY, 1)],
  ["more requests in a minute after its day", usageOf(TODAY, 7, TODAY - DAY_MS, 1)],
  ["rejections in the future", rejectionsOf(AT + DAY_MS, 1)],
  ["the longest ban", rejectionsOf(0, 25, MAX_BAN_MS + MINUTE_MS)],
  [
    "an identifier that no key can name",
    { id: "No" },
    "account No: No account can have this identifier, so no key leads to it. Correct it in the database, or restore a backup.",
  ],
  [
    "an unknown plan",
    { plan: "gold" },
    withoutLimits("gold", "Choose one of free, pro, business, enterprise."),
  ],
  [
    "a plan without its limits",
    { plan: "enterprise" },
    withoutLimits(
      "enterprise",
      "An account with the enterprise plan needs its limits per minute and per day.",
    ),
  ],
  [
    "limits that its plan cannot have",
    { plan: "free", customLimits: { perMinute: 1, perDay: 1 } },
    withoutLimits("free", "The free plan has fixed limits. Only enterprise has custom limits."),
  ],
  [
    "too many active keys",
    { keys: keysOf(21) },
    "account acme: It has 21 active keys; at most 20 are possible. Revoke some.",
  ],
  [
    "keys with one identifier, one hash, or neither of its own",
    {
      keys: [
        keyOf(1),
        keyOf(2, { id: "acme.1" }),
        keyOf(3, { hash: keyOf(1).hash }),
        keyOf(4, { id: "other.4" }),
        keyOf(5, { hash: "short" }),
        keyOf(6, { id: "acme6.6" }),
        keyOf(7, { id: "my.acme.7" }),
        keyOf(8, { hash: "8".repeat(65) }),
        keyOf(9, { hash: "G".repeat(64) }),
      ],
    },
    ...ofKeys("acme.1", "acme.3", "other.4", "acme.5", "acme6.6", "my.acme.7", "acme.8", "acme.9"),
  ],
  [
    "keys with dates that are none",
    {
      keys: [
        keyOf(1, { createdAt: 0.5, expiresAt: 1, revokedAt: 1 }),
        keyOf(2, { expiresAt: 0.5 }),
        keyOf(3, { revokedAt: 0.5 }),
      ],
    },
    ...ofKeys("acme.1", "acme.2", "acme.3"),
  ],
  [
    "windows that do not begin with a minute or day, or before 1970",
    usageOf(1, 0, -DAY_MS, 0),
    ...[impossible("minute, 0 requests since 1"), impossible(`day, 0 requests since ${-DAY_MS}`)],
  ],
  [
    "counts that are none",
    usageOf(0, -1, 0, 0.5),
    ...[impossible("minute, -1 requests since 0"), impossible("day, 0.5 requests since 0")],
  ],
  ["more requests in the first minute of a day than in the day", usageOf(TODAY, 7, TODAY, 6), tooMany],
  [
    "more requests in the last minute of a day than in the day",
    usageOf(TODAY + DAY_MS - MINUTE_MS, 7, TODAY, 6),
    tooMany,
  ],
  ["rejections that do not begin with a minute", rejectionsOf(1, 1), impossibleBan],
  ["rejections before 1970", rejectionsOf(-MINUTE_MS, 1), impossibleBan],
  ["a negative number of rejections", rejectionsOf(0, -1), impossibleBan],
  ["a ban until a fraction", rejectionsOf(0, 1, 0.5), impossibleBan],
  ["a ban that is too long", rejectionsOf(0, 1, MAX_BAN_MS + MINUTE_MS + 1), impossibleBan],
])("an account with %s has these findings, or none", async (_, account, ...expected) => {
  expect((await check(account as Partial<Account>)).found).toEqual(expected);
});

test("an order has the findings of its status and of its record", async () => {
  const order = (id: bigint, status: string, wire: string): InspectedOrder => ({
    ...{ id, status, wire, readHistory: () => [] },
  });
  const { found } = await check({}, [
    order(1n, "lost", '{"id":1}'),
    order(2n, "pending", '{"id":3}'),
    order(4n, "pending", '{"id": 4}'),
    order(5n, "pending", '{"id":5,"quantity":-1}'),
    order(6n, "cancelled", '{"id":6,"complete":true}'),
    order(7n, "shipped", '{"id":7,"complete":true}'),
  ]);
  const replace = "Replace the record in the database by that of a backup or an export.";
  expect(found).toEqual([
    `order 1: The status 'lost' is not one of ${LIFECYCLE.statuses.join(", ")}, so every event of it fails. Correct the status in the database.`,
    `order 2: The record is that of order 3. ${replace}`,
    `order 4: The record is not in the form in which it is sent. ${replace}`,
    `order 5: The record cannot be read: quantity: Write a whole number from 0 to 2147483647, in plain digits without quotes. ${replace}`,
    expect.stringMatching(
      /^order 6: The order is complete and cancelled, which cannot be: only shipped .*orders can be complete\. Correct the status in the database, or remove 'complete' from the record\.$/,
    ),
  ]);
});

test("a damaged history is a finding, and no further one follows from it", async () => {
  const { found } = await check({}, [
    { id: 7n, status: "shipped", wire: '{"id":7}', readHistory: () => unpackChanges("p1;s;") },
  ]);
  expect(found).toEqual([
    "order 7: The history cannot be read, so its changes are not delivered: The instant of 'ship' is no number of milliseconds. " +
      "Correct it in the database, then run 'changes retry'; or remove the history, and the order from the outbox.",
  ]);
});

test("a status is explained if one of the changes leads to it, and progress is reported after each page", async () => {
  const order = (id: bigint, status: string, events: readonly OrderChange["event"][]): InspectedOrder => ({
    ...{ id, status, wire: `{"id":${id}}` },
    readHistory: () => events.map((event) => ({ event, at: AT })),
  });
  const { found, progress } = await check({}, [
    order(1n, "shipped", ["place", "ship", "fulfil"]),
    order(2n, "cancelled", ["cancel", "ship"]),
    order(3n, "cancelled", ["place"]),
    order(4n, "cancelled", ["place", "ship"]),
  ]);
  expect(found).toEqual([
    "order 4: The status is 'cancelled', to which no change in its history leads. " +
      "Correct the status in the database. If it is right, because somebody corrected it, remove the history, and the order from the outbox.",
  ]);
  expect(progress).toEqual([
    { orders: 0, accounts: 1, findings: 0 },
    { orders: 4, accounts: 1, findings: 1 },
  ]);
});

test("other work of the process runs between two pages of orders", async () => {
  const events: string[] = [];
  await checkDatabase(
    {
      inspect: async () => true,
      async *orders() {
        setImmediate(() => events.push("other work"));
        yield [];
        events.push("second page");
      },
      async *accounts() {},
      async close() {},
    },
    { at: AT, plans: PLAN_LIMITS, report: () => {}, update: () => {} },
  );
  expect(events).toEqual(["other work", "second page"]);
});
