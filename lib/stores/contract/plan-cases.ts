import assert from "node:assert/strict";
import { type AdmissionPolicy, DEFAULT_BAN_POLICY } from "../../accounts/admission.ts";
import { DAY_MS, MINUTE_MS } from "../../plans/windows.ts";
import type { UnboundedCase } from "./contract-case.ts";
import { AT, FIRST, outcomeName, SECOND } from "./fixture.ts";

const POLICY: AdmissionPolicy = {
  ...DEFAULT_BAN_POLICY,
  plans: { tiny: { perMinute: 2, perDay: 3 }, pro: { perMinute: 1, perDay: 9 }, "by-contract": "custom" },
};

const THIRD = { ...SECOND, id: "acme.third", hash: "3".repeat(64) };

/** The guarantees of `AccountStore.admit` with plans of the embedder. */
export const planCases: readonly UnboundedCase[] = [
  {
    name: "requests are admitted exactly up to the limits of the plans that are passed, in both windows",
    async check({ accounts }) {
      await accounts.create({ id: "acme", plan: "tiny", keys: [FIRST] });
      const burst = async (count: number, at: number) => {
        const key = { accountId: "acme", hash: FIRST.hash };
        const all = await Promise.all(Array.from({ length: count }, () => accounts.admit(key, at, POLICY)));
        return all.map(outcomeName).toSorted();
      };
      assert.deepEqual(await burst(4, AT), [
        "admitted",
        "admitted",
        "rate_limit_exceeded",
        "rate_limit_exceeded",
      ]);
      assert.deepEqual(await burst(2, AT + MINUTE_MS), ["admitted", "rate_limit_exceeded"]);
      assert.deepEqual(await burst(1, AT + DAY_MS), ["admitted"]);
    },
  },
  {
    name: "a plan can have other limits than the default ones, and limits per account",
    async check({ accounts }) {
      const customLimits = { perMinute: 4, perDay: 5 };
      await accounts.create({ id: "fixed", plan: "pro", keys: [FIRST] });
      await accounts.create({ id: "custom", plan: "by-contract", customLimits, keys: [SECOND] });
      for (const [accountId, { hash }, remaining] of [
        ["fixed", FIRST, 0],
        ["custom", SECOND, 3],
      ] as const) {
        const admission = await accounts.admit({ accountId, hash }, AT, POLICY);
        assert.ok(admission.ok);
        assert.equal(admission.quota.remaining, remaining);
      }
    },
  },
  {
    name: "an account whose plan is not among the plans, or has no limits of its own, is rejected and not counted",
    async check({ accounts }) {
      for (const [accountId, plan, key] of [
        ["free", "free", FIRST],
        ["prototype", "toString", SECOND],
        ["unlimited", "by-contract", THIRD],
      ] as const) {
        await accounts.create({ id: accountId, plan, keys: [key] });
        const admission = await accounts.admit({ accountId, hash: key.hash }, AT, POLICY);
        assert.equal(outcomeName(admission), "plan_without_limits");
        assert.equal((await accounts.find(accountId))?.usage.day.count, 0);
      }
    },
  },
];
