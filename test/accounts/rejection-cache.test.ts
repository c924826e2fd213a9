import { setImmediate } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import { withRejectionCache } from "../../lib/accounts/rejection-cache.ts";
import { StoreUnavailableError } from "../../lib/errors.ts";
import { MINUTE_MS } from "../../lib/plans/windows.ts";
import { AT, createCacheFixture, KEY, outcomeOf, PRESENTED } from "./rejection-cache-fixture.ts";

describe("a rejected key", () => {
  test("a rejected key is rejected from memory for a second, and then by the store again", async () => {
    const { admit, calls } = await createCacheFixture();
    expect([await admit(AT), await admit(AT + 1)]).toEqual(["admitted", "rate_limit_exceeded"]);
    for (let after = 2; after < 12; after++) expect(await admit(AT + after)).toBe("rate_limit_exceeded");
    expect(calls()).toBe(2);
    await admit(AT + 1_001);
    expect(calls(), "one call reports the ten rejections, one decides").toBe(4);
  });

  test("queries the store once when many requests arrive as its entry expires", async () => {
    const { admit, calls } = await createCacheFixture();
    for (let request = 0; request < 30; request++) await admit(AT + request);
    const before = calls();
    const burst = Array.from({ length: 50 }, (_, request) => admit(AT + 2_000 + (request >> 3)));
    expect(new Set(await Promise.all(burst))).toEqual(new Set(["api_key_banned"]));
    expect(calls()).toBe(before + 1);
  });

  test("a rejected key is admitted exactly up to its limit when many requests arrive in the next window", async () => {
    const { accounts, admit, setPlan } = await createCacheFixture();
    for (let request = 0; request < 5; request++) await admit(AT + request);
    await setPlan(accounts, { plan: "enterprise", customLimits: { perMinute: 10, perDay: 100 } });
    const results = await Promise.all(Array.from({ length: 12 }, () => admit(AT + MINUTE_MS)));
    expect(results.filter((result) => result === "admitted")).toHaveLength(10);
  });

  test("a rejected key gets the remaining wait when the rejection is served from memory", async () => {
    const { cached } = await createCacheFixture();
    await cached.admit(PRESENTED, AT);
    await cached.admit(PRESENTED, AT + 59_000);
    expect(await cached.admit(PRESENTED, AT + 59_001)).toMatchObject({ retryAfterSeconds: 1 });
  });

  test("a rejected key has the rejections from memory counted with the next store call", async () => {
    const { admit, rejections } = await createCacheFixture();
    for (let request = 0; request < 7; request++) await admit(AT + request);
    expect(await rejections()).toBe(1);
    await admit(AT + 2_000);
    expect(await rejections()).toBe(7);
  });

  test("a rejected key is banned by exactly the rejection that exceeds the limit, without waiting for the entry to expire", async () => {
    const { admit, calls, cached, rejections } = await createCacheFixture();
    const results: string[] = [];
    for (let request = 0; request < 21; request++) results.push(await admit(AT + request));
    expect(results.includes("api_key_banned")).toBe(false);
    expect(await cached.admit(PRESENTED, AT + 21)).toMatchObject({ code: "api_key_banned", startsBan: true });
    expect(await cached.admit(PRESENTED, AT + 22)).toMatchObject({
      code: "api_key_banned",
      startsBan: false,
    });
    expect(await rejections()).toBe(21);
    expect(calls()).toBe(4);
  });

  test("a rejected key is banned by the 21st rejection when the responses of the store arrive out of order", async () => {
    const { accounts } = await createCacheFixture();
    const pending: (() => void)[] = [];
    let isHeld = true;
    const reordered = withRejectionCache({
      ...accounts,
      async admit(...args) {
        const admission = await accounts.admit(...args);
        if (isHeld) await new Promise<void>((resolve) => pending.push(resolve));
        return admission;
      },
    });
    await accounts.admit(PRESENTED, AT);
    const first = Array.from({ length: 20 }, () => reordered.admit(PRESENTED, AT));
    await vi.waitUntil(() => pending.length === 20);
    for (const respond of pending.toReversed()) {
      respond();
      await setImmediate();
    }
    isHeld = false;
    for (const admission of await Promise.all(first))
      expect(outcomeOf(admission)).toBe("rate_limit_exceeded");
    expect(await reordered.admit(PRESENTED, AT + 1)).toMatchObject({ code: "api_key_banned" });
  });

  test("a rejected key has a failed report repeated with the same token, because the store may have counted it", async () => {
    const { accounts, rejections } = await createCacheFixture();
    const reports: unknown[] = [];
    let fails = true;
    const cached = withRejectionCache({
      ...accounts,
      async recordRejections(key, count, at, policy, token) {
        reports.push({ count, token });
        if (fails) throw new StoreUnavailableError("The response was lost.");
        await accounts.recordRejections(key, count, at, policy, token);
      },
    });
    for (let request = 0; request < 7; request++) await cached.admit(PRESENTED, AT + request);
    await expect(cached.admit(PRESENTED, AT + 2_000)).rejects.toThrow(StoreUnavailableError);
    fails = false;
    await cached.admit(PRESENTED, AT + 2_000);
    expect(reports).toEqual([
      { count: 5, token: expect.stringMatching(/^\w{6}$/) },
      { count: 5, token: (reports[0] as { token: string }).token },
    ]);
    expect(await rejections()).toBe(7);
  });

  test("a rejected key starts a new count in the next minute", async () => {
    const { admit } = await createCacheFixture();
    for (let request = 0; request < 15; request++) await admit(AT + MINUTE_MS - 20 + request);
    expect(await admit(AT + MINUTE_MS)).toBe("admitted");
    for (let request = 0; request < 15; request++) {
      expect(await admit(AT + MINUTE_MS + request)).toBe("rate_limit_exceeded");
    }
  });

  test("a rejected key keeps its unreported rejections while the store is unavailable", async () => {
    const { admit, setDown, rejections } = await createCacheFixture();
    for (let request = 0; request < 7; request++) await admit(AT + request);
    setDown(true);
    await expect(admit(AT + 2_000)).rejects.toThrow(StoreUnavailableError);
    setDown(false);
    await admit(AT + 3_000);
    expect(await rejections()).toBe(7);
  });
});

describe("an unban, a better plan and a reset of the counters", () => {
  test("an unban, a better plan and a reset of the counters take effect at once when they are applied through the same store", async () => {
    const { admit, cached, setPlan } = await createCacheFixture();
    for (let request = 0; request < 25; request++) await admit(AT + request);
    await cached.unban("acme", KEY.id);
    expect(await admit(AT + 30)).toBe("rate_limit_exceeded");
    await cached.resetUsage("acme");
    expect([await admit(AT + 31), await admit(AT + 32)]).toEqual(["admitted", "rate_limit_exceeded"]);
    await setPlan(cached, { plan: "pro" });
    expect(await admit(AT + 33)).toBe("admitted");
  });

  test("an unban, a better plan and a reset of the counters take effect within a second when another process applies them", async () => {
    const { accounts, admit, setPlan } = await createCacheFixture();
    for (let request = 0; request < 25; request++) await admit(AT + request);
    await accounts.unban("acme", KEY.id);
    await setPlan(accounts, { plan: "pro" });
    expect(await admit(AT + 30)).toBe("api_key_banned");
    expect(await admit(AT + 1_030)).toBe("admitted");
  });

  test.each(["unban", "plan", "reset"] as const)(
    "an unban, a better plan and a reset of the counters (here: %s) take effect at once, although the response to an earlier request arrives later",
    async (change) => {
      const { accounts, setPlan } = await createCacheFixture();
      const held = Promise.withResolvers<void>();
      const decided = Promise.withResolvers<void>();
      let isHeld = false;
      const cached = withRejectionCache({
        ...accounts,
        async admit(...args) {
          const admission = await accounts.admit(...args);
          if (isHeld) {
            decided.resolve();
            await held.promise;
          }
          return admission;
        },
      });
      await cached.admit(PRESENTED, AT);
      if (change === "unban") await accounts.recordRejections(PRESENTED, 21, AT);
      isHeld = true;
      const earlier = cached.admit(PRESENTED, AT);
      await decided.promise;
      if (change === "unban") await cached.unban("acme", KEY.id);
      if (change === "plan") await setPlan(cached, { plan: "pro" });
      if (change === "reset") await cached.resetUsage("acme");
      isHeld = false;
      held.resolve();
      const expected = change === "unban" ? "rate_limit_exceeded" : "admitted";
      expect((await earlier).ok).toBe(false);
      expect(outcomeOf(await cached.admit(PRESENTED, AT + 1))).toBe(expected);
    },
  );
});
