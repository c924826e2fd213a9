import { describe, expect, test, vi } from "vitest";
import { cloud, zone } from "../harness/cloud.ts";
import type { Registration, Seen } from "../harness/engine.ts";
import { find, ofType, run } from "../harness/program.ts";
import { typeErrors, unknownValues } from "../harness/provider-types.ts";
import { from, ok, own, production, update, withDomains } from "../harness/scenario.ts";

// The first test to need a run waits for those before it.
vi.setConfig({ testTimeout: 120_000 });

const DOMAIN = "aws:apigateway/domainName:DomainName";
const RECORD = "cloudflare:index/dnsRecord:DnsRecord";
const CERTIFICATE = "aws:acm/certificate:Certificate";
const FUNCTION = "aws:lambda/function:Function";

const asItStands = update(production, { records: [own] });
const wide = run({
  stack: "production",
  config: withDomains(
    {
      primary: "orders.example.com",
      redirects: ["example.com", "www.example.com", "shop.eu.example.co.uk"].map(from),
    },
    {
      "store-orders:alarmEmail": "oncall@example.com",
      "store-orders:accessLogs": "manage",
      "store-orders:reservedConcurrency": 20,
      "store-orders:timeoutSeconds": 60,
      "store-orders:reverify": { "www.example.com": 2 },
      "store-orders:hold": ["shop.eu.example.co.uk"],
      "store-orders:adopt": { "www.example.com": "0123456789abcdef0123456789abcdef" },
    },
  ),
  secretKeys: ["store-orders:alarmEmail"],
  cloud: cloud({ zones: [zone("example.com"), zone("example.co.uk"), zone("eu.example.co.uk")] }),
});
const oneMore = update(
  withDomains({
    primary: "orders.example.com",
    aliases: ["buy.example.com"],
    redirects: [from("www.orders.example.com")],
  }),
);
describe("a host", () => {
  test("is made in order: certificate, proof, validation, domain name, mapping, and the route last", async () => {
    const seen = await ok(asItStands);
    const chain = ["certificate", "proof", "validation", "domain", "mapping", "route"].map((part) =>
      find(seen, `store-orders-production-orders-example-com-${part}`),
    );
    for (const [index, { dependencies }] of chain.entries()) {
      if (index > 0) expect(dependencies).toContain(chain[index - 1]?.urn);
    }
    expect(chain[2]?.createTimeout).toBe("30m");
    expect(chain[4]?.inputs).toEqual({
      domainName: "orders.example.com",
      restApi: "store-orders-production-gateway-rest-id",
      stageName: "live",
    });
  });

  test("has records that are plain, ours by their comment, and without trailing dots", async () => {
    const seen = await ok(asItStands);
    const plain = {
      type: "CNAME",
      zoneId: "zone-of-example.com",
      ttl: 3600,
      proxied: false,
      comment: "store-orders/production, kept by Pulumi",
    };
    expect(find(seen, "store-orders-production-orders-example-com-proof").inputs).toEqual({
      ...plain,
      name: "_0123.orders.example.com",
      content: "_4567.acm-validations.aws",
    });
    expect(find(seen, "store-orders-production-orders-example-com-route").inputs).toEqual({
      ...plain,
      name: "orders.example.com",
      content: "d-ordersexamplecom.execute-api.eu-central-1.amazonaws.com",
    });
  });

  test("may have its record already: our own, known by its comment, is in nobody's way", async () => {
    expect((await ok(asItStands)).questions.map(({ token }) => token)).toContain(
      "cloudflare:index/getDnsRecords:getDnsRecords",
    );
  });

  test("is known to both functions", async () => {
    for (const { inputs } of ofType(await ok(asItStands), FUNCTION)) {
      expect(JSON.stringify(inputs["environment"])).toContain("www.orders.example.com");
    }
  });
});

describe("several hosts", () => {
  test("three redirects, an apex and two zones: each record goes into the longest zone that matches", async () => {
    const seen = await ok(wide);
    const zones = ofType(seen, RECORD).map(({ inputs }) => [inputs["name"], inputs["zoneId"]]);
    expect(Object.fromEntries(zones)).toEqual({
      "_0123.orders.example.com": "zone-of-example.com",
      "orders.example.com": "zone-of-example.com",
      "_0123.example.com": "zone-of-example.com",
      "_0123.www.example.com": "zone-of-example.com",
      "www.example.com": "zone-of-example.com",
      "example.com": "zone-of-example.com",
      "_0123.shop.eu.example.co.uk": "zone-of-eu.example.co.uk",
    });
    expect(seen.stackOutputs["domains"]).toMatchObject({
      "example.com": {
        role: "redirect",
        state: "live",
        record: { type: "ALIAS", name: "@", ttl: 3600 },
      },
      "shop.eu.example.co.uk": {
        role: "redirect",
        state: "pending_dns",
        record: { type: "CNAME", name: "shop" },
      },
    });
  });

  test("get their domain names one after another, and their certificates each alone", async () => {
    const seen = await ok(wide);
    const made = ofType(seen, DOMAIN);
    expect(made).toHaveLength(4);
    for (const [index, { dependencies }] of made.entries()) {
      if (index > 0) expect(dependencies).toContain(made[index - 1]?.urn);
    }
    for (const { inputs } of ofType(seen, CERTIFICATE))
      expect(inputs["subjectAlternativeNames"]).toBeUndefined();
  });

  test("can be held, adopted and verified again one by one", async () => {
    const seen = await ok(wide);
    expect(
      seen.registrations.some(({ name }) => name === "store-orders-production-shop-eu-example-co-uk-route"),
    ).toBe(false);
    expect(find(seen, "store-orders-production-www-example-com-route").importId).toBe(
      "zone-of-example.com/0123456789abcdef0123456789abcdef",
    );
    const triggers = ofType(seen, CERTIFICATE).map((each) => [
      each.inputs["domainName"],
      each.replacementTrigger,
    ]);
    expect(triggers.filter(([, trigger]) => trigger !== null)).toEqual([["www.example.com", 2]]);
  });

  test("with everything switched on, every input fits the providers' types, and a secret stays one", async () => {
    const { registrations } = await ok(wide);
    expect(typeErrors(registrations)).toBe("");
    expect(unknownValues(registrations)).toEqual([]);
    const [subscription] = ofType({ registrations }, "aws:sns/topicSubscription:TopicSubscription");
    expect(subscription?.inputs["endpoint"]).toEqual({ secret: "oncall@example.com" });
    const elsewhere = registrations.filter(
      (each) => each !== subscription && each.type !== "pulumi:pulumi:Stack",
    );
    expect(JSON.stringify(elsewhere)).not.toContain("oncall@");
  });

  test("what shapes the API brings a new deployment, and a list may take as long as its function", async () => {
    const [before, after] = [await ok(asItStands), await ok(wide)];
    const shapeOf = (seen: Seen) =>
      ofType(seen, "aws:apigateway/deployment:Deployment").map(({ inputs }) => inputs["triggers"]);
    expect(shapeOf(after)).not.toEqual(shapeOf(before));
    for (const [role, timeout] of [
      ["list", 60],
      ["api", 29],
    ] as const) {
      const { inputs } = find(after, `store-orders-production-${role}-function`);
      expect(inputs).toMatchObject({ timeout, reservedConcurrentExecutions: 20 });
    }
    const streamed = ofType(after, "aws:apigateway/integration:Integration").find(
      ({ inputs }) => inputs["responseTransferMode"] === "STREAM",
    );
    expect(streamed?.inputs["timeoutMilliseconds"]).toBe(60_000);
  });

  test("the account's logging role is set where asked for, and then outlives the stack", async () => {
    const seen = await ok(wide);
    const [account] = ofType(seen, "aws:apigateway/account:Account");
    expect(account?.retainOnDelete).toBe(true);
    const stage = find(seen, "store-orders-production-gateway-stage");
    expect(stage.dependencies).toContain(account?.urn);
    expect(JSON.stringify(stage.inputs["accessLogSettings"])).toContain(
      "$context.integration.timeToFirstContent",
    );
  });
});

describe("a change of one host leaves its neighbours alone", () => {
  /** What may follow the list of hosts: the functions serve it. */
  const followers = (seen: Seen) => ofType(seen, FUNCTION).map(({ urn }) => urn);
  const inputsOf = ({ registrations }: Seen) =>
    new Map(registrations.map(({ urn, inputs }) => [urn, inputs]));

  test("one added: nobody else's name or inputs change", async () => {
    const [before, after] = [await ok(asItStands), await ok(oneMore)];
    const now = inputsOf(after);
    for (const [urn, inputs] of inputsOf(before)) {
      if (!followers(before).includes(urn)) expect(now.get(urn), urn).toEqual(inputs);
    }
    const added = after.registrations.filter(({ urn }) => !inputsOf(before).has(urn));
    expect(added.map(({ name }) => name).sort()).toEqual(
      ["", "-certificate", "-certificate", "-domain", "-mapping", "-proof", "-route", "-validation"].map(
        (part) => `store-orders-production-buy-example-com${part}`,
      ),
    );
  });

  test("one removed: gone from the functions' list, which is updated before anything is deleted", async () => {
    const [before, after] = [await ok(oneMore), await ok(asItStands)];
    for (const { inputs } of ofType(after, FUNCTION)) {
      expect(JSON.stringify(inputs["environment"])).not.toContain("buy.example.com");
    }
    const gone = before.registrations.filter(({ urn }) => !inputsOf(after).has(urn));
    expect(gone.every(({ name }) => name.startsWith("store-orders-production-buy-example-com"))).toBe(true);
    // The engine deletes whatever is depended upon last.
    expect(deletionOrder(gone.filter(({ custom, type }) => custom && !type.includes("MetricAlarm")))).toEqual(
      ["route", "mapping", "domain", "validation", "proof", "certificate"].map(
        (part) => `store-orders-production-buy-example-com-${part}`,
      ),
    );
    expect(gone.filter(({ protect, retainOnDelete }) => protect || retainOnDelete)).toEqual([]);
  });
});

/** The order in which an engine deletes: a resource goes once nothing is left that depends on it. */
function deletionOrder(left: readonly Registration[]): readonly string[] {
  const free = left.filter(({ urn }) => !left.some(({ dependencies }) => dependencies.includes(urn)));
  if (free.length === 0) return [];
  const rest = left.filter((each) => !free.includes(each));
  return [...free.map(({ name }) => name).sort(), ...deletionOrder(rest)];
}
