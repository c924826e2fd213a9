import { expect, test, vi } from "vitest";
import { cloud } from "./harness/cloud.ts";
import { find, ofType, run } from "./harness/program.ts";

vi.setConfig({ testTimeout: 120_000 });

test("another Pulumi program deploys the service and a custom domain with the components", async () => {
  const program = "test/infra/programs/own.ts";
  const outcome = await run({ program, stack: "production", config: {}, cloud: cloud() });
  expect(outcome).toMatchObject({ code: 0, errors: "" });
  expect(outcome.stackOutputs).toEqual({
    baseUrl: "https://api123.execute-api.eu-central-1.amazonaws.com/live/v1",
    state: "live",
  });
  const tables = ofType(outcome, "aws:dynamodb/table:Table").map(({ inputs }) => inputs["name"]);
  expect(tables.toSorted()).toEqual(["shop-accounts", "shop-orders"]);
  expect(find(outcome, "shop-list-function").inputs["memorySize"]).toBe(256);
  expect(find(outcome, "shop-front-route").inputs["comment"]).toBe("managed by shop");
});

test("with default providers disabled, a program that passes its own deploys the service, lookups included", async () => {
  const guest = (dns: "cloudflare" | "manual", providers: boolean) =>
    run({
      program: "test/infra/programs/guest.ts",
      stack: "staging",
      preview: true,
      cloud: cloud({ certificates: [{ host: "orders.example.com", status: "ISSUED" }] }),
      config: {
        "pulumi:disable-default-providers": ["*"],
        "guest:providers": providers,
        "guest:settings": { plan: "pro", dns, domains: { primary: "orders.example.com" } },
      },
    });
  const outcome = await guest("manual", true);
  expect(outcome).toMatchObject({ code: 0, errors: "" });
  const used = [
    ...outcome.invokes.map(({ token, provider }) => [token, provider] as const),
    ...outcome.registrations
      .filter(({ custom }) => custom)
      .map(({ type, provider }) => [type, provider] as const),
  ];
  for (const [token, provider] of used.filter(([token]) => !token.startsWith("pulumi:")))
    expect(provider, token).toContain(`::guest-${token.split(":")[0]}::`);
  const without = await guest("cloudflare", false);
  expect(without.code).not.toBe(0);
  expect(without.errors).toContain("must use an explicit provider.");
});
