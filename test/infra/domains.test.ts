import { describe, expect, test, vi } from "vitest";
import { cloud, type Dns, type World, zone } from "./harness/cloud.ts";
import type { Registration, Seen } from "./harness/engine.ts";
import { find, type Outcome, ofType, run, stackFile } from "./harness/program.ts";
import { typeErrors, unknownValues } from "./harness/provider-types.ts";

// The first test to need a run waits for those before it.
vi.setConfig({ testTimeout: 120_000 });

const DOMAIN = "aws:apigateway/domainName:DomainName";
const RECORD = "cloudflare:index/dnsRecord:DnsRecord";
const CERTIFICATE = "aws:acm/certificate:Certificate";
const FUNCTION = "aws:lambda/function:Function";

const production = stackFile("production");
const from = (name: string) => ({ from: name, to: "orders.example.com" });
const withDomains = (domains: unknown, more: Readonly<Record<string, unknown>> = {}) => ({
  ...production,
  "store-orders:domains": domains,
  ...more,
});
const update = (config: Readonly<Record<string, unknown>>, world?: World) =>
  run({ stack: "production", config, cloud: cloud(world) });
const ok = async (outcome: Promise<Outcome>) => {
  const seen = await outcome;
  expect({ code: seen.code, errors: seen.errors }).toEqual({ code: 0, errors: "" });
  return seen;
};
const hosts = (seen: Seen) => ofType(seen, DOMAIN).map(({ inputs }) => inputs["domainName"]);

const foreign: Dns = {
  id: "f00d",
  zone: "example.com",
  name: "orders.example.com",
  type: "A",
  content: "192.0.2.1",
  comment: "old shop",
};
const own = { ...foreign, type: "CNAME", comment: "store-orders/production, kept by Pulumi" };

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
      "store-orders:hold": ["example.com"],
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
const waiting = update(withDomains({ primary: "orders.example.org" }, { "store-orders:dns": "manual" }));
const issued = update(withDomains({ primary: "orders.example.org" }, { "store-orders:dns": "manual" }), {
  issued: ["orders.example.org"],
});
const late = update(production, {
  failing: {
    "store-orders-production-orders-example-com-validation":
      "timeout while waiting for state to become ISSUED",
  },
});

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
      "_0123.shop.eu.example.co.uk": "zone-of-eu.example.co.uk",
      "shop.eu.example.co.uk": "zone-of-eu.example.co.uk",
    });
    expect(seen.stackOutputs["domains"]).toMatchObject({
      "example.com": {
        role: "redirect",
        state: "pending_dns",
        record: { type: "ALIAS", name: "@", ttl: 3600 },
      },
      "shop.eu.example.co.uk": { role: "redirect", state: "live", record: { type: "CNAME", name: "shop" } },
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
    expect(seen.registrations.some(({ name }) => name === "store-orders-production-example-com-route")).toBe(
      false,
    );
    expect(find(seen, "store-orders-production-www-example-com-route").importId).toBe(
      "zone-of-example.com/0123456789abcdef0123456789abcdef",
    );
    const triggers = ofType(seen, CERTIFICATE).map(({ replacementTrigger }) => replacementTrigger);
    expect(triggers).toEqual([null, null, 2, null]);
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
    const limits = ofType(after, FUNCTION).map(({ inputs }) => [
      inputs["timeout"],
      inputs["reservedConcurrentExecutions"],
    ]);
    expect(limits).toEqual([
      [60, 20],
      [29, 20],
    ]);
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

describe("DNS elsewhere", () => {
  test("the first run asks for the certificate, tells the record to set, and waits for nothing", async () => {
    const seen = await ok(waiting);
    expect(hosts(seen)).toEqual([]);
    expect(ofType(seen, "aws:acm/certificateValidation:CertificateValidation")).toEqual([]);
    expect(seen.registrations.some(({ type }) => type.startsWith("cloudflare:"))).toBe(false);
    expect(seen.stackOutputs["domains"]).toEqual({
      "orders.example.org": {
        role: "primary",
        state: "pending_dns",
        record: { type: "CNAME", name: "orders", ttl: 3600 },
        validationRecord: {
          type: "CNAME",
          name: "_0123.orders.example.org",
          value: "_4567.acm-validations.aws",
        },
      },
    });
    expect(seen.stackOutputs["baseUrl"]).toBe(
      "https://api123.execute-api.eu-central-1.amazonaws.com/live/v1",
    );
  });

  test("once it has been issued, the next run makes the rest and tells where the host has to point", async () => {
    const seen = await ok(issued);
    expect(hosts(seen)).toEqual(["orders.example.org"]);
    expect(seen.stackOutputs["domains"]).toMatchObject({
      "orders.example.org": {
        state: "live",
        record: { value: "d-ordersexampleorg.execute-api.eu-central-1.amazonaws.com" },
      },
    });
    expect(seen.stackOutputs["baseUrl"]).toBe("https://orders.example.org/v1");
  });
});

describe("what is in the way stops the preview before anything is made", () => {
  const preview = (world: World) => run({ stack: "production", preview: true, cloud: cloud(world) });
  const nothingMade = ({ registrations }: Seen) => registrations.filter(({ custom }) => custom);

  test("a record of somebody else's and a zone that is not there, both at once, each with its mend", async () => {
    const config = withDomains({ primary: "orders.example.com", redirects: [from("shop.example.net")] });
    const seen = await run({
      stack: "production",
      config,
      preview: true,
      cloud: cloud({ records: [foreign] }),
    });
    expect(seen.code).not.toBe(0);
    expect(nothingMade(seen)).toEqual([]);
    expect(seen.errors).toMatchInlineSnapshot(`
      "DNS is not ready for the domains:
        orders.example.com: A orders.example.com → 192.0.2.1 (record f00d, comment 'old shop') is in the way of our CNAME. Delete it; or, if it carries traffic, put orders.example.com under 'hold' and move it as "Moving a live host" says.
        shop.example.net: there is no zone for it among those that the Cloudflare token sees (looked for shop.example.net, example.net). Add the zone there, give the token 'Zone Read' on it, or set 'dns: manual' where DNS is elsewhere."
    `);
  });

  test("our own record, known by its comment, is in nobody's way", async () => {
    expect((await ok(asItStands)).questions.map(({ token }) => token)).toContain(
      "cloudflare:index/getDnsRecords:getDnsRecords",
    );
  });

  test("Cloudflare that does not answer is no verdict", async () => {
    const seen = await preview({ silent: ["cloudflare:index/getZones:getZones"] });
    expect(nothingMade(seen)).toEqual([]);
    expect(seen.errors).toMatchInlineSnapshot(`
      "Cloudflare could not be asked about the zone orders.example.com: connection refused
      Set CLOUDFLARE_API_TOKEN to a token with 'Zone Read' and 'DNS Edit' on the zones, and run again."
    `);
  });

  test("a certificate that does not come in 30 minutes ends with what to check", async () => {
    const seen = await late;
    expect(hosts(seen)).toEqual([]);
    const told = seen.logs.filter(({ severity }) => severity === 3).map(({ message }) => message);
    expect(told[0]).toMatchInlineSnapshot(`
      "No certificate has come for orders.example.com within 30 minutes of asking.
        1. Check that the domain still verifies. (store-orders domains check)
        2. Check that CAA records do not block the certificate authority. (Amazon has to be among them, or there are none)
        3. Choose Re-verify to trigger a new attempt. (store-orders:reverify: { orders.example.com: 1 }, then run again)
        What the provider said: timeout while waiting for state to become ISSUED"
    `);
  });
});

/** The order in which an engine deletes: a resource goes once nothing is left that depends on it. */
function deletionOrder(left: readonly Registration[]): readonly string[] {
  const free = left.filter(({ urn }) => !left.some(({ dependencies }) => dependencies.includes(urn)));
  if (free.length === 0) return [];
  const rest = left.filter((each) => !free.includes(each));
  return [...free.map(({ name }) => name).sort(), ...deletionOrder(rest)];
}
