import { describe, expect, test, vi } from "vitest";
import { find, ofType } from "../harness/program.ts";
import { typeErrors, unknownValues } from "../harness/provider-types.ts";
import { production, success, update } from "../harness/scenario.ts";

vi.setConfig({ testTimeout: 120_000 });

const limited = success(
  update({
    ...production,
    "store-orders:waf": { requestsPerFiveMinutes: 3000 },
    "store-orders:closePlatformHost": true,
  }),
);
const plain = success(update(production));

describe("a web ACL", () => {
  test("blocks an address above its rate, and nothing else", async () => {
    const { inputs } = find(await limited, "store-orders-production-gateway-waf-acl");
    expect(inputs).toMatchObject({ scope: "REGIONAL", defaultAction: { allow: {} } });
    expect(inputs["rules"]).toMatchObject([
      {
        action: { block: {} },
        statement: { rateBasedStatement: { limit: 3000, aggregateKeyType: "IP", evaluationWindowSec: 300 } },
      },
    ]);
  });

  test("protects the stage, whose blocked requests get a 429 with Retry-After", async () => {
    const outcome = await limited;
    const [association] = ofType(outcome, "aws:wafv2/webAclAssociation:WebAclAssociation");
    expect(association?.dependencies).toContain(find(outcome, "store-orders-production-gateway-stage").urn);
    expect(find(outcome, "store-orders-production-gateway-response-waf-filtered").inputs).toMatchObject({
      statusCode: "429",
      responseParameters: { "gatewayresponse.header.Retry-After": "'60'" },
    });
  });

  test("a web ACL has inputs that match the provider's types and documented values", async () => {
    const registrations = ofType(await limited, "aws:wafv2/webAcl:WebAcl");
    expect(typeErrors(registrations)).toBe("");
    expect(unknownValues(registrations)).toEqual([]);
  });

  test("a web ACL is off by default, and a request that another ACL blocks gets a 403", async () => {
    const outcome = await plain;
    expect(ofType(outcome, "aws:wafv2/webAcl:WebAcl")).toEqual([]);
    const { inputs } = find(outcome, "store-orders-production-gateway-response-waf-filtered");
    expect(inputs["statusCode"]).toBe("403");
  });
});

describe("the API Gateway hostname", () => {
  const isClosed = async (run: typeof plain) =>
    find(await run, "store-orders-production-gateway-rest").inputs["disableExecuteApiEndpoint"];

  test("the API Gateway hostname is closed on request, and open by default", async () => {
    expect([await isClosed(limited), await isClosed(plain)]).toEqual([true, false]);
  });

  test("the API Gateway hostname is not closed without custom hosts, or while the primary host is not served", async () => {
    const close = { ...production, "store-orders:closePlatformHost": true };
    const { "store-orders:domains": _none, ...withoutDomains } = close as Record<string, unknown>;
    const none = await update(withoutDomains);
    const held = await update({ ...close, "store-orders:hold": ["orders.example.com"] });
    for (const { registrations } of [none, held])
      expect(registrations.filter(({ custom }) => custom)).toEqual([]);
    expect(none.errors).toContain(
      "store-orders:closePlatformHost: Without custom hosts nothing would be served.",
    );
    expect(held.errors).toContain("store-orders:closePlatformHost: orders.example.com is not served yet");
  });
});
