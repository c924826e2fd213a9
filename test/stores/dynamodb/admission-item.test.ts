import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DAY_MS, MINUTE_MS } from "../../../lib/plans/windows.ts";
import {
  type KeyEntry,
  leastUsable,
  MAX_COUNT,
  packEntry,
  planOf,
  rejectedIn,
  unpackEntry,
} from "../../../lib/stores/dynamodb/admission-item.ts";

const AT = Date.UTC(2026, 10, 20, 12);

const anyInstant = fc.integer({ min: 1, max: Date.UTC(2100, 0) });
const anyEntry: fc.Arbitrary<KeyEntry> = fc
  .record({
    expiresAt: fc.option(anyInstant, { nil: undefined }),
    minute: fc.integer({ min: 60, max: Date.UTC(2100, 0) / MINUTE_MS }),
    count: fc.integer({ min: 0, max: MAX_COUNT }),
    firstMs: fc.option(fc.integer({ min: 0, max: MINUTE_MS - 1 }), { nil: undefined }),
    banMs: fc.option(fc.integer({ min: -5 * MINUTE_MS, max: 90 * 1_440 * MINUTE_MS }), { nil: undefined }),
  })
  .map(({ expiresAt, minute, count, firstMs, banMs }) => {
    const windowStart = minute * MINUTE_MS;
    const rejections =
      firstMs === undefined
        ? { windowStart, count, ...(banMs === undefined ? {} : { bannedUntil: windowStart + banMs }) }
        : { windowStart, count: 0, firstAt: windowStart + firstMs };
    return {
      ...(expiresAt === undefined ? {} : { expiresAt }),
      ...(count === 0 && firstMs === undefined ? {} : { rejections }),
    };
  });

describe("a packed key", () => {
  test("a packed key is read as it was written, in plain digits and in scientific notation", () => {
    fc.assert(
      fc.property(anyEntry, (entry) => {
        const number = packEntry(entry);
        expect(unpackEntry(number)).toEqual(entry);
        const [, sign = "", digits = ""] = /^(-?)(\d+)$/.exec(number) ?? [];
        expect(unpackEntry(`${sign}${digits[0]}.${digits.slice(1)}E+${digits.length - 1}`)).toEqual(entry);
      }),
    );
  });

  test.each([
    ["2E+25", { expiresAt: 2_000_000_000_000 }],
    ["1.75e25", { expiresAt: 1_750_000_000_000 }],
    ["12.5E24", { expiresAt: 1_250_000_000_000 }],
    ["5E0", { expiresAt: 0, rejections: { windowStart: 0, count: 5 } }],
  ])("a packed key is read in short scientific notation, as of %s", (number, entry) => {
    expect(unpackEntry(number)).toEqual(entry);
  });

  test("a packed key has at most 38 significant digits, the limit of a DynamoDB number", () => {
    fc.assert(
      fc.property(anyEntry, (entry) => {
        expect(packEntry(entry).replace("-", "").length).toBeLessThanOrEqual(38);
      }),
    );
  });

  test("a packed key is at least the least usable number if and only if it has neither expired nor a ban", () => {
    fc.assert(
      fc.property(anyEntry, anyInstant, (entry, at) => {
        const isUsable = (entry.expiresAt ?? Infinity) > at && entry.rejections?.bannedUntil === undefined;
        expect(BigInt(packEntry(entry)) >= BigInt(leastUsable(at))).toBe(isUsable);
      }),
    );
  });

  test("a packed key counts up within the numbers of its minute, and a number beyond the maximum becomes the maximum", () => {
    const counted = (count: number) => packEntry({ expiresAt: AT, rejections: { windowStart: AT, count } });
    expect(BigInt(counted(7)) + 3n).toBe(BigInt(counted(10)));
    const { from, to } = rejectedIn({ expiresAt: AT }, AT, 20);
    expect([from, to]).toEqual([counted(1), counted(20)]);
    expect(unpackEntry(counted(1_000_000)).rejections?.count).toBe(MAX_COUNT);
    expect(unpackEntry(packEntry({ expiresAt: 8.64e15 }))).toEqual({});
  });

  test("an earlier version reads the first rejection of a minute as of a minute long ago, and its counts stay as they are", () => {
    const first = packEntry({ expiresAt: AT, rejections: { windowStart: AT, count: 0, firstAt: AT + 7 } });
    expect(first).toBe(`${AT}${AT / MINUTE_MS - 60}40007`);
    for (const number of [`${AT}${AT / MINUTE_MS}99999`, `-${AT}${AT / MINUTE_MS}500001000900000`])
      expect(packEntry(unpackEntry(number))).toBe(number);
  });

  test("a packed key keeps a ban of 90 days, and rejects one that it would shorten", () => {
    const banned = (days: number) => ({
      rejections: { windowStart: AT, count: 1, bannedUntil: AT + days * DAY_MS },
    });
    expect(unpackEntry(packEntry(banned(90)))).toEqual(banned(90));
    expect(() => packEntry(banned(105))).toThrow(RangeError);
  });
});

test.each([[{ perMinute: 5 }], [{ perDay: 9 }], [{}]])(
  "an account that somebody has left with %j has no limits of its own, rather than one that is no number",
  (limits) => {
    const item = Object.entries(limits).map(([name, limit]) => [name, { N: `${limit}` }]);
    expect(planOf({ plan: { S: "enterprise" }, ...Object.fromEntries(item) })).toEqual({
      plan: "enterprise",
    });
  },
);
