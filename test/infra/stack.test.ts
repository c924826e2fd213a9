import { describe, expect, test } from "vitest";
import { cloud, isKnown } from "./harness/cloud.ts";
import { planDifference, planText } from "./harness/plan.ts";
import { run } from "./harness/program.ts";
import { hasInput, typeErrors } from "./harness/provider-types.ts";
import { closed, everything, onlyRecords, production, success, update } from "./harness/scenario.ts";
import { UNKNOWN, type Value } from "./harness/wire.ts";

const STACKS = ["staging", "production"] as const;
const runBoth = (preview: boolean) => ({
  staging: success(run({ stack: "staging", preview, cloud: cloud() })),
  production: success(run({ stack: "production", preview, cloud: cloud() })),
});
const [previews, updates] = [runBoth(true), runBoth(false)];
const live = cloud();
const withEverything = success(
  onlyRecords(update(production, { cloud: live })).then((state) =>
    run({
      ...{ stack: "production", config: { ...everything, ...closed }, cloud: live, state },
      secretKeys: ["store-orders:alarmEmail"],
    }),
  ),
);

/** True if everything that is known of a value in the preview is the same in the update. */
function agrees(previewed: Value, updated: Value): boolean {
  if (previewed === UNKNOWN) return true;
  if (typeof previewed !== "object" || previewed === null) return previewed === updated;
  if (typeof updated !== "object" || updated === null) return false;
  const entries = new Map<string, Value>(Object.entries(updated));
  return Object.entries(previewed).every(([key, value]) => agrees(value, entries.get(key) ?? null));
}

describe("the reviewed plan", () => {
  test("of production has every resource with its inputs and options, and the outputs", async () => {
    await expect(planText(await updates.production)).toMatchFileSnapshot("plans/production.txt");
  });

  test("of staging differs from that of production as reviewed", async () => {
    const { registrations, stackOutputs } = await updates.production;
    const renamed = JSON.stringify({ registrations, stackOutputs }).replaceAll("production", "staging");
    const difference = planDifference(await updates.staging, JSON.parse(renamed));
    await expect(difference).toMatchFileSnapshot("plans/staging.txt");
  });

  test("of production with every setting that adds resources has these beside the others", async () => {
    const difference = planDifference(await withEverything, await updates.production);
    await expect(difference).toMatchFileSnapshot("plans/every-setting.txt");
  });
});

test.each(STACKS)("the preview of %s lists what the update creates, with its known inputs", async (stack) => {
  const updated = new Map((await updates[stack]).registrations.map(({ urn, inputs }) => [urn, inputs]));
  const { registrations } = await previews[stack];
  expect(registrations.map(({ urn }) => urn).sort()).toEqual([...updated.keys()].sort());
  for (const { urn, inputs } of registrations) {
    const { code: _files, ...previewed } = inputs;
    expect(agrees(previewed, updated.get(urn) ?? null), urn).toBe(true);
  }
});

describe("an update", () => {
  test("leaves nothing unknown", async () => {
    for (const { registrations, stackOutputs } of [await updates.staging, await updates.production]) {
      expect(registrations.filter(({ inputs }) => !isKnown(inputs))).toEqual([]);
      expect(isKnown(stackOutputs)).toBe(true);
    }
  });

  test("puts every resource below a component of this project, whose name its own begins with", async () => {
    const { registrations } = await withEverything;
    const byUrn = new Map(registrations.map((each) => [each.urn, each]));
    for (const { name, parent, custom } of registrations) {
      const above = byUrn.get(parent);
      if (custom) expect(above?.type, name).toMatch(/^store-orders:infra:/);
      if (above?.type.startsWith("store-orders:") === true)
        expect(name.startsWith(above.name), name).toBe(true);
    }
  });

  test("with tags sets them on everything that can have tags, besides those of the certificates", async () => {
    const { registrations } = await withEverything;
    const types = [...new Set(registrations.map(({ type }) => type))].filter((type) =>
      type.startsWith("aws:"),
    );
    const taggable = types.filter((type) => hasInput(type, "tags"));
    expect(taggable.length).toBeGreaterThan(10);
    for (const { type, name, inputs } of registrations.filter(({ type }) => type.startsWith("aws:")))
      expect([name, inputs["tags"]]).toEqual([
        name,
        taggable.includes(type) ? expect.objectContaining({ team: "shop" }) : undefined,
      ]);
    const certificate = registrations.find(({ type }) => type.includes(":Certificate"));
    expect(certificate?.inputs["tags"]).toHaveProperty("store-orders:stack");
  });

  test("with every setting has inputs that match the provider's types, and the e-mail address is secret", async () => {
    const { registrations } = await withEverything;
    expect(typeErrors(registrations)).toBe("");
    const [stack, ...others] = registrations;
    expect(stack?.type).toBe("pulumi:pulumi:Stack");
    const open = others.filter(({ type }) => !type.includes("TopicSubscription"));
    expect(JSON.stringify(open)).not.toContain("ops@");
  });
});
