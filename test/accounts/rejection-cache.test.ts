import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { AccountSettings, ApiKey } from "../../lib/accounts/account.ts";
import type { AccountStore } from "../../lib/accounts/account-store.ts";
import type { Admission } from "../../lib/accounts/admission.ts";
import { withRejectionCache } from "../../lib/accounts/rejection-cache.ts";
import { StoreUnavailableError } from "../../lib/errors.ts";
import { DAY_MS, MINUTE_MS } from "../../lib/plans/windows.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";

const AT = Date.UTC(2026, 10, 20, 12);
const KEY: ApiKey = { id: "shop.first", hash: "1".repeat(64), createdAt: AT };
const SETTINGS: AccountSettings = {
  id: "shop",
  terms: { plan: "enterprise", customLimits: { perMinute: 1, perDay: 100 } },
  keys: [KEY],
};
const presented = { accountId: "shop", hash: KEY.hash };

/** A store behind the memory that tells how often it was asked, and the same one without the memory. */
async function openShop() {
  const { accounts } = createMemoryStore();
  await accounts.create(SETTINGS);
  let asked = 0;
  let isDown = false;
  const counted: AccountStore = {
    ...accounts,
    async admit(...args) {
      asked++;
      if (isDown) throw new StoreUnavailableError("down");
      return accounts.admit(...args);
    },
  };
  const remembering = withRejectionCache(counted);
  return {
    accounts,
    remembering,
    admit: async (at: number) => tell(await remembering.admit(presented, at)),
    asked: () => asked,
    stop: (down: boolean) => {
      isDown = down;
    },
    refused: async () => (await accounts.find("shop"))?.rejections[KEY.id]?.count,
  };
}

const tell = (result: Admission) => (result.outcome === "refused" ? result.code : result.outcome);

describe("a refused caller", () => {
  test("is answered from memory for a second, and then by the store again", async () => {
    const shop = await openShop();
    expect([await shop.admit(AT), await shop.admit(AT + 1)]).toEqual(["admitted", "rate_limit_exceeded"]);
    for (let after = 2; after < 12; after++) expect(await shop.admit(AT + after)).toBe("rate_limit_exceeded");
    expect(shop.asked()).toBe(2);
    await shop.admit(AT + 1_001);
    expect(shop.asked()).toBe(3);
  });

  test("that asks many times at once, just when its refusal has grown old, is asked about once", async () => {
    const shop = await openShop();
    for (let call = 0; call < 30; call++) await shop.admit(AT + call);
    const before = shop.asked();
    const atOnce = Array.from({ length: 50 }, (_, call) => shop.admit(AT + 2_000 + (call >> 3)));
    expect(new Set(await Promise.all(atOnce))).toEqual(new Set(["api_key_banned"]));
    expect(shop.asked()).toBe(before + 1);
  });

  test("that asks many times at once when it is let in again is let in as often as it may", async () => {
    const shop = await openShop();
    for (let call = 0; call < 5; call++) await shop.admit(AT + call);
    await shop.accounts.update("shop", (was) => ({
      ...was,
      terms: { plan: "enterprise", customLimits: { perMinute: 10, perDay: 100 } },
    }));
    const results = await Promise.all(Array.from({ length: 12 }, () => shop.admit(AT + MINUTE_MS)));
    expect(results.filter((result) => result === "admitted")).toHaveLength(10);
  });

  test("is told the wait as it is by then", async () => {
    const { remembering } = await openShop();
    await remembering.admit(presented, AT);
    await remembering.admit(presented, AT + 59_000);
    expect(await remembering.admit(presented, AT + 59_001)).toMatchObject({ retryAfter: 1 });
  });

  test("is counted all the same: the next write adds what memory answered", async () => {
    const shop = await openShop();
    for (let call = 0; call < 7; call++) await shop.admit(AT + call);
    expect(await shop.refused()).toBe(1);
    await shop.admit(AT + 2_000);
    expect(await shop.refused()).toBe(7);
  });

  test("is banned by the very refusal that crosses the threshold, which is written at once", async () => {
    const shop = await openShop();
    const results: string[] = [];
    for (let call = 0; call < 24; call++) results.push(await shop.admit(AT + call));
    expect(results.indexOf("api_key_banned")).toBe(21);
    expect(await shop.refused()).toBe(21);
    expect(shop.asked()).toBe(3);
  });

  test("of the minute before is not counted in the next one", async () => {
    const shop = await openShop();
    for (let call = 0; call < 15; call++) await shop.admit(AT + MINUTE_MS - 20 + call);
    expect(await shop.admit(AT + MINUTE_MS)).toBe("admitted");
    for (let call = 0; call < 15; call++) {
      expect(await shop.admit(AT + MINUTE_MS + call)).toBe("rate_limit_exceeded");
    }
  });

  test("is not forgotten where the store does not answer", async () => {
    const shop = await openShop();
    for (let call = 0; call < 7; call++) await shop.admit(AT + call);
    shop.stop(true);
    await expect(shop.admit(AT + 2_000)).rejects.toThrow(StoreUnavailableError);
    shop.stop(false);
    await shop.admit(AT + 3_000);
    expect(await shop.refused()).toBe(7);
  });
});

describe("what an operator does", () => {
  test("holds at once where it goes through the same store", async () => {
    const shop = await openShop();
    for (let call = 0; call < 25; call++) await shop.admit(AT + call);
    await shop.remembering.unban("shop", KEY.id);
    expect(await shop.admit(AT + 30)).toBe("rate_limit_exceeded");
    await shop.remembering.update("shop", (was) => ({ ...was, terms: { plan: "pro" } }));
    expect(await shop.admit(AT + 31)).toBe("admitted");
  });

  test("holds within a second where another process does it", async () => {
    const shop = await openShop();
    for (let call = 0; call < 25; call++) await shop.admit(AT + call);
    await shop.accounts.unban("shop", KEY.id);
    await shop.accounts.update("shop", (was) => ({ ...was, terms: { plan: "pro" } }));
    expect(await shop.admit(AT + 30)).toBe("api_key_banned");
    expect(await shop.admit(AT + 1_030)).toBe("admitted");
  });
});

test("over any history, nobody is told anything else than without the memory", async () => {
  const step = fc.record({
    after: fc.constantFrom(0, 0, 0, 1, 300, 999, 1_000, 20_000, MINUTE_MS),
    does: fc.constantFrom("admit", "admit", "admit", "admit", "admit", "admit", "admit", "pardon", "change"),
  });
  const replay = async (accounts: AccountStore, steps: readonly { after: number; does: string }[]) => {
    await accounts.create(SETTINGS);
    const told: unknown[] = [];
    let at = AT;
    for (const { after, does } of steps) {
      at += after;
      if (does === "pardon") await accounts.unban("shop", KEY.id);
      else if (does === "change") await accounts.update("shop", (was) => ({ ...was }));
      else {
        const { write: _write, ...answer } = {
          write: undefined,
          ...(await accounts.admit(presented, at, { maxRejections: 4, durationMs: DAY_MS })),
        };
        told.push(answer);
      }
    }
    return told;
  };
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60, size: "max" }), async (steps) => {
      const remembered = await replay(withRejectionCache(createMemoryStore().accounts), steps);
      expect(remembered).toEqual(await replay(createMemoryStore().accounts, steps));
    }),
  );
});

test("only so many are remembered, and those beyond are answered by the store", async () => {
  let asked = 0;
  const refusal: Admission = {
    outcome: "refused",
    caller: { accountId: "shop", keyId: KEY.id, plan: "free" },
    code: "rate_limit_exceeded",
    quota: { limit: 1, remaining: 0, resetsAt: AT + MINUTE_MS },
    retryAfter: 60,
    write: { windowStart: AT, count: 1 },
  };
  const full: AccountStore = {
    ...createMemoryStore().accounts,
    admit: async () => {
      asked++;
      return refusal;
    },
  };
  const remembering = withRejectionCache(full);
  const flood = async (at: number) => {
    for (let key = 0; key < 10_100; key++) await remembering.admit({ accountId: "shop", hash: `${key}` }, at);
    const before = asked;
    asked = 0;
    return before;
  };
  expect(await flood(AT)).toBe(10_100);
  expect(await flood(AT + 1)).toBe(100);
  expect(await flood(AT + 1_500)).toBe(10_100);
});
