import assert from "node:assert/strict";
import { BAN_POLICY } from "../../accounts/admission.ts";
import type { Instant } from "../../clock.ts";
import { MINUTE } from "../../plans/windows.ts";
import type { ContractCase } from "./contract-case.ts";
import { AT, FIRST, openShop, SECOND, tell } from "./fixture.ts";

/** The promises of `AccountStore.admit` and `pardon` about bans (decision 14). */
export const banCases: readonly ContractCase[] = [
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
    promise: "a refusal counts as those that it stands for, and brings the ban where they are too many",
    async check({ accounts }) {
      const shop = await openShop(accounts);
      await shop.burst(60, AT);
      const refuse = async (refusals: number) =>
        tell(await accounts.admit({ accountId: "shop", hash: FIRST.hash }, AT, BAN_POLICY, refusals));
      const refused = async () => (await accounts.find("shop"))?.penalties[FIRST.id]?.refused;
      assert.deepEqual([await refuse(7), await refused()], ["rate_limit_exceeded", 7]);
      assert.deepEqual([await refuse(13), await refused()], ["rate_limit_exceeded", 20]);
      assert.deepEqual([await refuse(3), await refused()], ["api_key_banned", 23]);
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
