import assert from "node:assert/strict";
import { type AdmissionPolicy, DEFAULT_BAN_POLICY } from "../../accounts/admission.ts";
import type { PlanLimits, PlanTable } from "../../plans/plan-limits.ts";
import { DAY_MS, MINUTE_MS } from "../../plans/windows.ts";
import { defineCases } from "./contract-case.ts";
import { AT, FIRST, KEY, outcomeName } from "./fixture.ts";

const POLICY: AdmissionPolicy = { ...DEFAULT_BAN_POLICY, plans: { tiny: { perMinute: 2, perDay: 3 } } };

const LIMITS = { perMinute: 2, perDay: 9 };

/** Tables of plans with the plan of an account and its own limits, and what its first two requests get. */
const TABLES: readonly (readonly [plans: PlanTable, plan: string, outcome: string, own?: PlanLimits])[] = [
  [{ pro: LIMITS }, "pro", "admitted"],
  [{ pro: { perMinute: 1, perDay: 1 }, own: "custom" }, "own", "admitted", LIMITS],
  [{ only: "custom" }, "only", "plan_without_limits"],
  [{ only: "custom" }, "only", "plan_without_limits", { perMinute: 2, perDay: 2 ** 60 }],
  [{ only: LIMITS }, "free", "plan_without_limits"],
  [{ only: LIMITS }, "toString", "plan_without_limits"],
  [{}, "only", "plan_without_limits"],
  [manyPlans(20), "plan-19", "admitted"],
];

/** Plans with the same limits: `plan-0`, `plan-1`, … */
function manyPlans(count: number): PlanTable {
  const names = Array.from({ length: count }, (_, index) => `plan-${index}`);
  return Object.fromEntries(names.map((name) => [name, LIMITS]));
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

  test("a table can have one plan, as many as are permitted, or none, and an account without limits by it is not counted", async (accounts) => {
    for (const [index, [plans, plan, outcome, customLimits]] of TABLES.entries()) {
      const id = `acme-${index}`;
      const key = { ...FIRST, id: `${id}.key`, hash: `${index}`.repeat(64) };
      await accounts.create({ id, plan, ...(customLimits && { customLimits }), keys: [key] });
      const admit = () =>
        accounts.admit({ accountId: id, hash: key.hash }, AT, { ...DEFAULT_BAN_POLICY, plans });
      const outcomes = [await admit(), await admit(), await admit()].map(outcomeName);
      const [third, count] = outcome === "admitted" ? ["rate_limit_exceeded", 2] : [outcome, 0];
      assert.deepEqual(outcomes, [outcome, outcome, third], `${Object.keys(plans).length} plans`);
      assert.equal((await accounts.find(id))?.usage.day.count, count, "what is admitted is counted");
    }
  });
});
