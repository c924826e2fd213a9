import assert from "node:assert/strict";
import { DEFAULT_BAN_POLICY } from "../../accounts/admission.ts";
import type { Instant } from "../../clock.ts";
import { MINUTE_MS } from "../../plans/windows.ts";
import type { ContractCase } from "./contract-case.ts";
import { AT, createAccountFixture, FIRST, outcomeName, SECOND } from "./fixture.ts";

/** The promises of `AccountStore.admit` and `pardon` about bans (decision 14). */
export const banCases: readonly ContractCase[] = [
  {
    name: "the 21st refused request of a key in one minute bans it for 15 minutes, and no other key",
    async check({ accounts }) {
      const shop = await createAccountFixture(accounts);
      await shop.burst(60, AT);
      const refusals = await shop.burst(20, AT + 1);
      assert.ok(refusals.every((result) => outcomeName(result) === "rate_limit_exceeded"));
      const ban = await shop.admit(AT + 2);
      assert.ok(ban.outcome === "refused" && ban.code === "api_key_banned");
      assert.deepEqual([ban.retryAfter, ban.quota.remaining], [DEFAULT_BAN_POLICY.durationMs / 1000, 0]);
      const until = AT + 2 + DEFAULT_BAN_POLICY.durationMs;
      assert.equal((await accounts.find("shop"))?.rejections[FIRST.id]?.bannedUntil, until);
      assert.equal(outcomeName(await shop.admit(AT + MINUTE_MS)), "api_key_banned");
      assert.equal(outcomeName(await shop.admit(AT + MINUTE_MS, SECOND)), "admitted");
      assert.equal(
        outcomeName(await shop.admit(AT + MINUTE_MS)),
        "api_key_banned",
        "a ban holds where there is room",
      );
      assert.equal((await accounts.find("shop"))?.usage.minute.count, 1, "and counts in no window");
      assert.equal(outcomeName(await shop.admit(until - 1)), "api_key_banned");
      assert.equal(outcomeName(await shop.admit(until)), "admitted");
    },
  },
  {
    name: "refusals at the same time are all counted, so a burst cannot pass under the ban",
    async check({ accounts }) {
      const shop = await createAccountFixture(accounts);
      await shop.burst(60, AT);
      const results = (await shop.burst(30, AT)).map(outcomeName);
      assert.equal(results.filter((code) => code === "rate_limit_exceeded").length, 20);
      assert.equal(results.filter((code) => code === "api_key_banned").length, 10);
    },
  },
  {
    name: "a refusal counts as those that it stands for, and brings the ban where they are too many",
    async check({ accounts }) {
      const shop = await createAccountFixture(accounts);
      await shop.burst(60, AT);
      const refuse = async (refusals: number) =>
        outcomeName(
          await accounts.admit({ accountId: "shop", hash: FIRST.hash }, AT, DEFAULT_BAN_POLICY, refusals),
        );
      const refused = async () => (await accounts.find("shop"))?.rejections[FIRST.id]?.count;
      assert.deepEqual([await refuse(7), await refused()], ["rate_limit_exceeded", 7]);
      assert.deepEqual([await refuse(13), await refused()], ["rate_limit_exceeded", 20]);
      assert.deepEqual([await refuse(3), await refused()], ["api_key_banned", 23]);
    },
  },
  {
    name: "refusals of different minutes do not add up, and calling during a ban does not lengthen it",
    async check({ accounts }) {
      const shop = await createAccountFixture(accounts, {
        plan: "enterprise",
        customLimits: { perMinute: 1, perDay: 1_000 },
      });
      for (const at of [AT, AT + MINUTE_MS]) {
        assert.deepEqual((await shop.burst(21, at)).map(outcomeName).includes("api_key_banned"), false);
      }
      assert.equal(outcomeName(await shop.admit(AT + MINUTE_MS)), "api_key_banned");
      await shop.burst(50, AT + 5 * MINUTE_MS);
      assert.equal(outcomeName(await shop.admit(AT + MINUTE_MS + DEFAULT_BAN_POLICY.durationMs)), "admitted");
    },
  },
  {
    name: "a pardon lifts the ban at the next call and forgets the refusals",
    async check({ accounts }) {
      const shop = await createAccountFixture(accounts);
      await shop.burst(81, AT);
      assert.equal(outcomeName(await shop.admit(AT + MINUTE_MS)), "api_key_banned");
      await accounts.unban("shop", FIRST.id);
      assert.equal(outcomeName(await shop.admit(AT + MINUTE_MS)), "admitted");
      assert.deepEqual((await accounts.find("shop"))?.rejections, {});
      await accounts.unban("shop", "shop.nobody");
      await accounts.unban("nobody", FIRST.id);
    },
  },
  {
    name: "the ban's threshold and length are those of the policy that is given",
    async check({ accounts }) {
      await createAccountFixture(accounts, { plan: "enterprise", customLimits: { perMinute: 1, perDay: 9 } });
      const policy = { maxRejections: 0, durationMs: 2 * MINUTE_MS };
      const admit = (at: Instant) => accounts.admit({ accountId: "shop", hash: FIRST.hash }, at, policy);
      assert.deepEqual(
        [outcomeName(await admit(AT)), outcomeName(await admit(AT))],
        ["admitted", "api_key_banned"],
      );
      assert.equal(outcomeName(await admit(AT + 2 * MINUTE_MS)), "admitted");
    },
  },
];
