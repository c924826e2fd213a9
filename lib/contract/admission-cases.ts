import assert from "node:assert/strict";
import type { AccountSettings, ApiKey } from "../accounts/account.ts";
import type { AccountStore } from "../accounts/account-store.ts";
import { type Admission, BAN_POLICY } from "../accounts/admission.ts";
import type { Instant } from "../clock.ts";
import type { PlanTerms } from "../plans/plan-limits.ts";
import { DAY, MINUTE } from "../plans/windows.ts";
import type { ContractCase } from "./contract-case.ts";

const AT = Date.UTC(2026, 10, 20, 12) + 250;
const FIRST: ApiKey = { id: "shop.first", hash: "1".repeat(64), createdAt: AT };
const SECOND: ApiKey = { id: "shop.second", hash: "2".repeat(64), createdAt: AT };

async function openShop(accounts: AccountStore, terms: PlanTerms = { plan: "free" }, keys = [FIRST, SECOND]) {
  const settings: AccountSettings = { id: "shop", terms, keys };
  await accounts.create(settings);
  return {
    admit: (at: Instant, key = FIRST) => accounts.admit({ accountId: "shop", hash: key.hash }, at),
    /** Calls at once; tells what became of each. */
    burst: (count: number, at: Instant, key = FIRST) =>
      Promise.all(
        Array.from({ length: count }, () => accounts.admit({ accountId: "shop", hash: key.hash }, at)),
      ),
  };
}

const tell = (result: Admission) =>
  result.outcome === "refused" ? result.code : result.outcome === "unknown" ? result.reason : result.outcome;
const admitted = (results: readonly Admission[]) =>
  results.filter(({ outcome }) => outcome === "admitted").length;

/** The promises of `AccountStore.admit`. */
export const admissionCases: readonly ContractCase[] = [
  {
    promise: "a key that nobody owns is unknown, whether its account exists or not",
    async check({ accounts }) {
      const shop = await openShop(accounts, { plan: "free" }, [FIRST]);
      assert.deepEqual(tell(await shop.admit(AT, SECOND)), "no_such_key");
      assert.deepEqual(
        tell(await accounts.admit({ accountId: "nobody", hash: FIRST.hash }, AT)),
        "no_such_key",
      );
      assert.equal((await accounts.find("shop"))?.usage.day.count, 0);
    },
  },
  {
    promise: "an admitted request counts in both windows and says what is left",
    async check({ accounts }) {
      const shop = await openShop(accounts);
      const result = await shop.admit(AT);
      assert.ok(result.outcome === "admitted");
      assert.deepEqual(result.caller, { accountId: "shop", keyId: FIRST.id, plan: "free" });
      assert.deepEqual(result.quota, { limit: 60, remaining: 59, resetsAt: AT - 250 + MINUTE });
      const { usage } = (await accounts.find("shop")) ?? assert.fail();
      assert.deepEqual(usage, {
        minute: { start: AT - 250, count: 1 },
        day: { start: AT - (AT % DAY), count: 1 },
      });
    },
  },
  {
    promise:
      "of any number of calls at once exactly the limit is admitted, and refused ones count in neither window",
    async check({ accounts }) {
      const shop = await openShop(accounts);
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
    promise: "a new minute admits again, a full day does not until UTC midnight",
    async check({ accounts }) {
      const shop = await openShop(accounts, { plan: "enterprise", custom: { perMinute: 3, perDay: 5 } });
      assert.equal(admitted(await shop.burst(4, AT)), 3);
      assert.equal(admitted(await shop.burst(4, AT + MINUTE)), 2);
      const refused = await shop.admit(AT + 2 * MINUTE);
      assert.ok(refused.outcome === "refused");
      const midnight = AT - (AT % DAY) + DAY;
      assert.deepEqual(refused.quota, { limit: 5, remaining: 0, resetsAt: midnight });
      assert.equal(refused.retryAfter, Math.ceil((midnight - AT - 2 * MINUTE) / 1000));
      assert.equal(tell(await shop.admit(midnight - 1)), "rate_limit_exceeded");
      assert.equal(tell(await shop.admit(midnight)), "admitted");
    },
  },
  {
    promise: "two keys of one account share its limits",
    async check({ accounts }) {
      const shop = await openShop(accounts);
      const results = await Promise.all([shop.burst(40, AT, FIRST), shop.burst(40, AT, SECOND)]);
      assert.equal(admitted(results.flat()), 60);
    },
  },
  {
    promise: "a clock that is behind counts into the window that others have opened",
    async check({ accounts }) {
      const shop = await openShop(accounts);
      assert.equal(admitted(await shop.burst(60, AT + MINUTE)), 60);
      assert.equal(tell(await shop.admit(AT)), "rate_limit_exceeded");
      assert.equal(admitted(await shop.burst(61, AT + 2 * MINUTE)), 60);
    },
  },
  {
    promise: "a key stops at the instant of its expiry, and a revoked key at the very next call",
    async check({ accounts }) {
      const shop = await openShop(accounts, { plan: "free" }, [{ ...FIRST, expiresAt: AT + 10 }, SECOND]);
      assert.equal(tell(await shop.admit(AT + 9)), "admitted");
      assert.equal(tell(await shop.admit(AT + 10)), "expired");
      assert.equal(tell(await shop.admit(AT + 10, SECOND)), "admitted");
      await accounts.change("shop", (was) => ({
        ...was,
        keys: was.keys.map((key) => (key.id === SECOND.id ? { ...key, revokedAt: AT + 11 } : key)),
      }));
      assert.equal(tell(await shop.admit(AT + 11, SECOND)), "revoked");
      assert.equal((await accounts.find("shop"))?.usage.day.count, 2);
    },
  },
  {
    promise: "a plan that changes in mid-window keeps the count and takes the new limit at the next call",
    async check({ accounts }) {
      const shop = await openShop(accounts);
      assert.equal(admitted(await shop.burst(61, AT)), 60);
      await accounts.change("shop", (was) => ({ ...was, terms: { plan: "pro" } }));
      const next = await shop.admit(AT);
      assert.deepEqual(next.outcome === "admitted" && next.quota.remaining, 239);
      await accounts.change("shop", (was) => ({ ...was, terms: { plan: "free" } }));
      const refused = await shop.admit(AT);
      assert.deepEqual(refused.outcome === "refused" && refused.quota.remaining, 0);
    },
  },
  {
    promise: "the 21st refused request of a key in one minute bans it for 15 minutes, and no other key",
    async check({ accounts }) {
      const shop = await openShop(accounts);
      await shop.burst(60, AT);
      const refusals = await shop.burst(20, AT + 1);
      assert.ok(refusals.every((result) => tell(result) === "rate_limit_exceeded"));
      const ban = await shop.admit(AT + 2);
      assert.ok(ban.outcome === "refused" && ban.code === "api_key_banned");
      assert.deepEqual([ban.retryAfter, ban.quota.remaining], [BAN_POLICY.duration / 1000, 0]);
      const until = AT + 2 + BAN_POLICY.duration;
      assert.equal((await accounts.find("shop"))?.penalties[FIRST.id]?.bannedUntil, until);
      assert.equal(tell(await shop.admit(AT + MINUTE)), "api_key_banned");
      assert.equal(tell(await shop.admit(AT + MINUTE, SECOND)), "admitted");
      assert.equal(tell(await shop.admit(AT + MINUTE)), "api_key_banned", "a ban holds where there is room");
      assert.equal((await accounts.find("shop"))?.usage.minute.count, 1, "and counts in no window");
      assert.equal(tell(await shop.admit(until - 1)), "api_key_banned");
      assert.equal(tell(await shop.admit(until)), "admitted");
    },
  },
  {
    promise: "refusals at the same time are all counted, so a burst cannot pass under the ban",
    async check({ accounts }) {
      const shop = await openShop(accounts);
      await shop.burst(60, AT);
      const results = (await shop.burst(30, AT)).map(tell);
      assert.equal(results.filter((code) => code === "rate_limit_exceeded").length, 20);
      assert.equal(results.filter((code) => code === "api_key_banned").length, 10);
    },
  },
  {
    promise: "refusals of different minutes do not add up, and calling during a ban does not lengthen it",
    async check({ accounts }) {
      const shop = await openShop(accounts, { plan: "enterprise", custom: { perMinute: 1, perDay: 1_000 } });
      for (const at of [AT, AT + MINUTE]) {
        assert.deepEqual((await shop.burst(21, at)).map(tell).includes("api_key_banned"), false);
      }
      assert.equal(tell(await shop.admit(AT + MINUTE)), "api_key_banned");
      await shop.burst(50, AT + 5 * MINUTE);
      assert.equal(tell(await shop.admit(AT + MINUTE + BAN_POLICY.duration)), "admitted");
    },
  },
  {
    promise: "a pardon lifts the ban at the next call and forgets the refusals",
    async check({ accounts }) {
      const shop = await openShop(accounts);
      await shop.burst(81, AT);
      assert.equal(tell(await shop.admit(AT + MINUTE)), "api_key_banned");
      await accounts.pardon("shop", FIRST.id);
      assert.equal(tell(await shop.admit(AT + MINUTE)), "admitted");
      assert.deepEqual((await accounts.find("shop"))?.penalties, {});
      await accounts.pardon("shop", "shop.nobody");
      await accounts.pardon("nobody", FIRST.id);
    },
  },
  {
    promise: "the ban's threshold and length are those of the policy that is given",
    async check({ accounts }) {
      await openShop(accounts, { plan: "enterprise", custom: { perMinute: 1, perDay: 9 } });
      const policy = { refusals: 0, duration: 2 * MINUTE };
      const admit = (at: Instant) => accounts.admit({ accountId: "shop", hash: FIRST.hash }, at, policy);
      assert.deepEqual([tell(await admit(AT)), tell(await admit(AT))], ["admitted", "api_key_banned"]);
      assert.equal(tell(await admit(AT + 2 * MINUTE)), "admitted");
    },
  },
];
