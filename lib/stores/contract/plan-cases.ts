import assert from "node:assert/strict";
import { type AdmissionPolicy, DEFAULT_BAN_POLICY } from "../../accounts/admission.ts";
import type { PlanTable } from "../../plans/plan-limits.ts";
import { DAY_MS, MINUTE_MS } from "../../plans/windows.ts";
import { defineCases } from "./contract-case.ts";
import { AT, FIRST, KEY, outcomeName, SECOND } from "./fixture.ts";

const POLICY: AdmissionPolicy = {
  ...DEFAULT_BAN_POLICY,
  plans: { tiny: { perMinute: 2, perDay: 3 }, pro: { perMinute: 1, perDay: 9 }, "by-contract": "custom" },
};

const THIRD = { ...SECOND, id: "acme.third", hash: "3".repeat(64) };

/** Tables of plans with the name of the plan that the account has, and what its three requests get. */
const TABLES: readonly (readonly [plans: PlanTable, plan: string, outcome: string])[] = [
  [{ only: { perMinute: 2, perDay: 9 } }, "only", "admitted"],
  [{ only: "custom" }, "only", "admitted"],
  [{ only: { perMinute: 2, perDay: 9 } }, "other", "plan_without_limits"],
  [{}, "only", "plan_without_limits"],
  [manyPlans(20), "plan-19", "admitted"],
];

/** So many plans with the same limits: `plan-0`, `plan-1`, … */
function manyPlans(count: number): PlanTable {
  const names = Array.from({ length: count }, (_, index) => `plan-${index}`);
  return Object.fromEntries(names.map((name) => [name, { perMinute: 2, perDay: 9 }]));
}

export const planCases = defineCases({ of: "accounts" }, (test) => {
  test("requests are admitted exactly up to the limits of the plans that are passed, in both windows", async (accounts) => {
    await accounts.create({ id: "acme", plan: "tiny", keys: [FIRST] });
    const [admitted, rejected] = ["admitted", "rate_limit_exceeded"];
    const burst = async (count: number, at: number) => {
      const all = await Promise.all(Array.from({ length: count }, () => accounts.admit(KEY, at, POLICY)));
      return all.map(outcomeName).toSorted();
    };
    assert.deepEqual(await burst(4, AT), [admitted, admitted, rejected, rejected]);
    assert.deepEqual(await burst(2, AT + MINUTE_MS), [admitted, rejected]);
    assert.deepEqual(await burst(1, AT + DAY_MS), [admitted]);
  });

  test("a plan can have other limits than the default ones, and limits per account", async (accounts) => {
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
  });

  test("a table can have one plan, as many as are permitted, or none, and admits no other plan", async (accounts) => {
    for (const [index, [plans, plan, outcome]] of TABLES.entries()) {
      const id = `acme-${index}`;
      const key = { ...FIRST, id: `${id}.key`, hash: `${index}`.repeat(64) };
      const limits = Object.values(plans).includes("custom") && { customLimits: { perMinute: 2, perDay: 9 } };
      await accounts.create({ id, plan, ...limits, keys: [key] });
      const admit = () =>
        accounts.admit({ accountId: id, hash: key.hash }, AT, { ...DEFAULT_BAN_POLICY, plans });
      const outcomes = [await admit(), await admit(), await admit()].map(outcomeName);
      const third = outcome === "admitted" ? "rate_limit_exceeded" : outcome;
      assert.deepEqual(outcomes, [outcome, outcome, third], `${Object.keys(plans).length} plans`);
    }
  });

  test("an account whose plan is not among the plans, or has no limits of its own, is rejected and not counted", async (accounts) => {
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
  });
});
