import assert from "node:assert/strict";
import { DAY_MS, MINUTE_MS } from "../../plans/windows.ts";
import type { ContractCase } from "./contract-case.ts";
import { AT, admitted, createAccountFixture, FIRST, outcomeName, SECOND } from "./fixture.ts";

/** The promises of `AccountStore.admit` about keys and limits. */
export const admissionCases: readonly ContractCase[] = [
  {
    name: "a key that nobody owns is unknown, whether its account exists or not",
    async check({ accounts }) {
      const shop = await createAccountFixture(accounts, { plan: "free" }, [FIRST]);
      assert.deepEqual(outcomeName(await shop.admit(AT, SECOND)), "no_such_key");
      assert.deepEqual(
        outcomeName(await accounts.admit({ accountId: "nobody", hash: FIRST.hash }, AT)),
        "no_such_key",
      );
      assert.equal((await accounts.find("shop"))?.usage.day.count, 0);
    },
  },
  {
    name: "an admitted request counts in both windows and says what is left",
    async check({ accounts }) {
      const shop = await createAccountFixture(accounts);
      const result = await shop.admit(AT);
      assert.ok(result.outcome === "admitted");
      assert.deepEqual(result.caller, { accountId: "shop", keyId: FIRST.id, plan: "free" });
      assert.deepEqual(result.quota, { limit: 60, remaining: 59, resetsAt: AT - 250 + MINUTE_MS });
      const { usage } = (await accounts.find("shop")) ?? assert.fail();
      assert.deepEqual(usage, {
        minute: { start: AT - 250, count: 1 },
        day: { start: AT - (AT % DAY_MS), count: 1 },
      });
    },
  },
  {
    name: "of any number of calls at once exactly the limit is admitted, and refused ones count in neither window",
    async check({ accounts }) {
      const shop = await createAccountFixture(accounts);
      const results = await shop.burst(75, AT);
      assert.equal(admitted(results), 60);
      const left = results.flatMap((result) =>
        result.outcome === "admitted" ? [result.quota.remaining] : [],
      );
      assert.deepEqual(new Set(left).size, 60, "each admitted call saw another number of calls left");
      const { usage } = (await accounts.find("shop")) ?? assert.fail();
      assert.deepEqual([usage.minute.count, usage.day.count], [60, 60]);
    },
  },
  {
    name: "a new minute admits again, a full day does not until UTC midnight",
    async check({ accounts }) {
      const shop = await createAccountFixture(accounts, {
        plan: "enterprise",
        customLimits: { perMinute: 3, perDay: 5 },
      });
      assert.equal(admitted(await shop.burst(4, AT)), 3);
      assert.equal(admitted(await shop.burst(4, AT + MINUTE_MS)), 2);
      const refused = await shop.admit(AT + 2 * MINUTE_MS);
      assert.ok(refused.outcome === "refused");
      const midnight = AT - (AT % DAY_MS) + DAY_MS;
      assert.deepEqual(refused.quota, { limit: 5, remaining: 0, resetsAt: midnight });
      assert.equal(refused.retryAfter, Math.ceil((midnight - AT - 2 * MINUTE_MS) / 1000));
      assert.equal(outcomeName(await shop.admit(midnight - 1)), "rate_limit_exceeded");
      assert.equal(outcomeName(await shop.admit(midnight)), "admitted");
    },
  },
  {
    name: "calls at once over the end of a minute are counted where they are admitted, and nowhere else",
    async check({ accounts }) {
      const shop = await createAccountFixture(accounts, {
        plan: "enterprise",
        customLimits: { perMinute: 3, perDay: 1_000 },
      });
      let count = 0;
      for (let minute = 0; minute < 20; minute++) {
        const before = AT + minute * MINUTE_MS;
        const bursts = await Promise.all([shop.burst(5, before), shop.burst(3, before + MINUTE_MS)]);
        count += admitted(bursts.flat());
      }
      assert.equal((await accounts.find("shop"))?.usage.day.count, count);
    },
  },
  {
    name: "two keys of one account share its limits",
    async check({ accounts }) {
      const shop = await createAccountFixture(accounts);
      const results = await Promise.all([shop.burst(40, AT, FIRST), shop.burst(40, AT, SECOND)]);
      assert.equal(admitted(results.flat()), 60);
    },
  },
  {
    name: "a clock that is behind counts into the window that others have opened",
    async check({ accounts }) {
      const shop = await createAccountFixture(accounts);
      assert.equal(admitted(await shop.burst(60, AT + MINUTE_MS)), 60);
      assert.equal(outcomeName(await shop.admit(AT)), "rate_limit_exceeded");
      assert.equal(admitted(await shop.burst(61, AT + 2 * MINUTE_MS)), 60);
    },
  },
  {
    name: "a key stops at the instant of its expiry, and a revoked key at the very next call",
    async check({ accounts }) {
      const shop = await createAccountFixture(accounts, { plan: "free" }, [
        { ...FIRST, expiresAt: AT + 10 },
        SECOND,
      ]);
      assert.equal(outcomeName(await shop.admit(AT + 9)), "admitted");
      assert.equal(outcomeName(await shop.admit(AT + 10)), "expired");
      assert.equal(outcomeName(await shop.admit(AT + 10, SECOND)), "admitted");
      await accounts.update("shop", (was) => ({
        ...was,
        keys: was.keys.map((key) => (key.id === SECOND.id ? { ...key, revokedAt: AT + 11 } : key)),
      }));
      assert.equal(outcomeName(await shop.admit(AT + 11, SECOND)), "revoked");
      assert.equal((await accounts.find("shop"))?.usage.day.count, 2);
    },
  },
  {
    name: "a plan that changes in mid-window keeps the count and takes the new limit at the next call",
    async check({ accounts }) {
      const shop = await createAccountFixture(accounts);
      assert.equal(admitted(await shop.burst(61, AT)), 60);
      await accounts.update("shop", (was) => ({ ...was, terms: { plan: "pro" } }));
      const next = await shop.admit(AT);
      assert.deepEqual(next.outcome === "admitted" && next.quota.remaining, 239);
      await accounts.update("shop", (was) => ({ ...was, terms: { plan: "free" } }));
      const refused = await shop.admit(AT);
      assert.deepEqual(refused.outcome === "refused" && refused.quota.remaining, 0);
    },
  },
];
