import { describe, expect, test } from "vitest";
import {
  isPlan,
  PLANS,
  type PlanAssignment,
  type PlanTable,
  validatePlan,
  validatePlans,
} from "../../lib/plans/plan-limits.ts";

/** The message of the error that a call throws, otherwise `undefined`. */
function messageOf(call: () => unknown): string | undefined {
  try {
    call();
  } catch (error) {
    return (error as Error).message;
  }
  return undefined;
}

test("every plan of the table is a plan, and nothing else", () => {
  expect(PLANS.map(isPlan)).toEqual([true, true, true, true]);
  expect(["platinum", "toString", ""].map(isPlan)).toEqual([false, false, false]);
});

describe("validatePlan", () => {
  const assign = (assignment: unknown, plans?: PlanTable) =>
    validatePlan(assignment as PlanAssignment<string>, plans);

  test("a valid assignment is returned without anything else that it carries", () => {
    expect(assign({ plan: "free", note: 1 })).toStrictEqual({ plan: "free" });
    const customLimits = { perMinute: 60_000, perDay: 1, perHour: 5 };
    expect(assign({ plan: "enterprise", customLimits, note: 1 })).toStrictEqual({
      plan: "enterprise",
      customLimits: { perMinute: 60_000, perDay: 1 },
    });
  });

  test.each([
    [{ plan: "toString" }, "plan: Choose one of free, pro, business, enterprise."],
    [
      { plan: "free", customLimits: { perMinute: 1, perDay: 1 } },
      "plan: The free plan has fixed limits. Only enterprise has custom limits.",
    ],
    [
      { plan: "enterprise" },
      "plan: An account with the enterprise plan needs its limits per minute and per day.",
    ],
    [
      { plan: "enterprise", customLimits: { perMinute: 0, perDay: 1.5 } },
      "perMinute: Give a whole number of at least 1. perDay: Give a whole number of at least 1.",
    ],
    [
      { plan: "enterprise", customLimits: { perMinute: 60_001, perDay: 100 } },
      "perMinute: Give at most 60000. An account is one database item, which takes about 1000 writes a second.",
    ],
  ])("the assignment %j is rejected with what to change", (assignment, message) => {
    expect(messageOf(() => assign(assignment))).toBe(message);
  });

  test("the plans with custom limits are those of the service's own table", () => {
    const limits = { perMinute: 1, perDay: 1 };
    const assignment = { plan: "small", customLimits: limits };
    expect(messageOf(() => assign(assignment, { small: limits }))).toBe(
      "plan: The small plan has fixed limits. No plan has custom limits.",
    );
    expect(messageOf(() => assign(assignment, { small: limits, big: "custom", huge: "custom" }))).toBe(
      "plan: The small plan has fixed limits. Only big, huge has custom limits.",
    );
  });
});

describe("validatePlans", () => {
  const limits = { perMinute: 1, perDay: 1 };
  const table = (count: number): PlanTable =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`plan-${index}`, limits]));

  test("a table has 1 to 20 plans", () => {
    for (const count of [1, 20]) expect(messageOf(() => validatePlans(table(count)))).toBeUndefined();
    for (const count of [0, 21])
      expect(messageOf(() => validatePlans(table(count)))).toBe("plans: Give 1 to 20 plans.");
  });

  test("the name of a plan is 1 to 32 lower-case letters, digits and hyphens after a letter", () => {
    for (const name of ["a", "a1-b", `a${"b".repeat(31)}`])
      expect(messageOf(() => validatePlans({ [name]: "custom" }))).toBeUndefined();
    for (const name of ["", "1a", "-a", "A", "a_b", "a b", ` a`, "a ", `a${"b".repeat(32)}`])
      expect(messageOf(() => validatePlans({ [name]: "custom" }))).toBe(
        `plans.${name}: Use 1 to 32 lower-case letters, digits and hyphens, and begin with a letter.`,
      );
  });

  test("every wrong limit of every plan is reported", () => {
    const plans = { small: { perMinute: -1, perDay: 1 }, big: { perMinute: 1, perDay: 2 ** 53 } };
    expect(messageOf(() => validatePlans(plans))).toBe(
      "plans.small.perMinute: Give a whole number of at least 1. " +
        "plans.big.perDay: Give a whole number of at least 1.",
    );
  });
});
