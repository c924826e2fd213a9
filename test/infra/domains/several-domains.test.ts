import { describe, expect, test } from "vitest";
import { cloud, zone } from "../harness/cloud.ts";
import type { Recording } from "../harness/engine.ts";
import { find, ofType, run } from "../harness/program.ts";
import { typeErrors } from "../harness/provider-types.ts";
import { production, redirectFrom, success, update, withDomains } from "../harness/scenario.ts";

const DOMAIN = "aws:apigateway/domainName:DomainName";
const RECORD = "cloudflare:index/dnsRecord:DnsRecord";
const CERTIFICATE = "aws:acm/certificate:Certificate";

const BOUNDARY = "arn:aws:iam::123456789012:policy/store-orders-production-boundary";

/** The record of a host that another service serves. */
const liveElsewhere = {
  id: "0123456789abcdef0123456789abcdef",
  zone: "example.com",
  name: "www.example.com",
  type: "CNAME",
  content: "shop.example.net",
  comment: "",
};

const allOptions = run({
  stack: "production",
  config: withDomains(
    {
      primary: "orders.example.com",
      redirects: ["example.com", "www.example.com", "shop.eu.example.co.uk"].map(redirectFrom),
    },
    {
      "store-orders:alarmEmail": "oncall@example.com",
      "store-orders:accessLogs": "account",
      "store-orders:permissionsBoundary": BOUNDARY,
      "store-orders:reservedConcurrency": 20,
      "store-orders:timeoutSeconds": 60,
      "store-orders:reverify": { "www.example.com": 2 },
      "store-orders:hold": ["shop.eu.example.co.uk"],
      "store-orders:adopt": { "www.example.com": liveElsewhere.id },
    },
  ),
  secretKeys: ["store-orders:alarmEmail"],
  cloud: cloud({
    zones: [zone("example.com"), zone("example.co.uk"), zone("eu.example.co.uk")],
    records: [liveElsewhere],
  }),
});

const standard = update(production);

/** Cloudflare returns the names of this zone, and of its records, in Unicode. */
const internationalCloud = cloud({
  zones: [zone("xn--bcher-kva.de")],
  records: [{ ...liveElsewhere, zone: "xn--bcher-kva.de", name: "www.bücher.de" }],
});
const international = (adopt: object, preview: boolean) =>
  run({
    stack: "production",
    config: withDomains(
      { primary: "shop.bücher.de", redirects: [{ from: "www.bücher.de", to: "shop.bücher.de" }] },
      { "store-orders:adopt": adopt },
    ),
    preview,
    cloud: internationalCloud,
  });
const blocked = international({}, true);
const adopted = blocked.then(() => international({ "www.xn--bcher-kva.de": liveElsewhere.id }, false));

describe("several hosts", () => {
  test("each record is created in the longest matching zone, also at an apex and for several zones", async () => {
    const outcome = await success(allOptions);
    const zones = ofType(outcome, RECORD).map(({ inputs }) => [inputs["name"], inputs["zoneId"]]);
    expect(Object.fromEntries(zones)).toEqual({
      "_0123.orders.example.com": "zone-of-example.com",
      "orders.example.com": "zone-of-example.com",
      "_0123.example.com": "zone-of-example.com",
      "_0123.www.example.com": "zone-of-example.com",
      "www.example.com": "zone-of-example.com",
      "example.com": "zone-of-example.com",
      "_0123.shop.eu.example.co.uk": "zone-of-eu.example.co.uk",
    });
    expect(outcome.stackOutputs["domains"]).toMatchObject({
      "example.com": {
        role: "redirect",
        state: "live",
        record: { type: "CNAME", name: "@", ttl: 3600 },
      },
      "shop.eu.example.co.uk": {
        role: "redirect",
        state: "pending_dns",
        record: { type: "CNAME", name: "shop" },
      },
    });
  });

  test("an internationalised zone is found, and a record in it that blocks or is adopted", async () => {
    expect((await blocked).errors).toContain("CNAME www.xn--bcher-kva.de → shop.example.net");
    const outcome = await success(adopted);
    const names = ofType(outcome, RECORD).map(({ inputs }) => inputs["name"]);
    // Other names would be changed again after each refresh.
    expect(names.toSorted()).toEqual(
      internationalCloud
        .records()
        .map(({ name }) => name)
        .toSorted(),
    );
    expect(names).toContain("www.bücher.de");
  });

  test("domain names are created one after another, and each host has its own certificate", async () => {
    const outcome = await success(allOptions);
    const created = ofType(outcome, DOMAIN);
    expect(created).toHaveLength(4);
    for (const [index, { dependencies }] of created.entries()) {
      if (index > 0) expect(dependencies).toContain(created[index - 1]?.urn);
    }
    for (const { inputs } of ofType(outcome, CERTIFICATE))
      expect(inputs["subjectAlternativeNames"]).toBeUndefined();
  });

  test("each host can be held, adopted or verified again", async () => {
    const outcome = await success(allOptions);
    expect(
      outcome.registrations.some(
        ({ name }) => name === "store-orders-production-shop-eu-example-co-uk-route",
      ),
    ).toBe(false);
    expect(find(outcome, "store-orders-production-www-example-com-route").importId).toBe(
      "zone-of-example.com/0123456789abcdef0123456789abcdef",
    );
    const triggers = ofType(outcome, CERTIFICATE).map((each) => [
      each.inputs["domainName"],
      each.replacementTrigger,
    ]);
    expect(Object.fromEntries(triggers)).toEqual({
      "orders.example.com": 0,
      "example.com": 0,
      "www.example.com": 2,
      "shop.eu.example.co.uk": 0,
    });
  });

  test("with every option set, all inputs match the providers' types, and the e-mail address stays secret", async () => {
    const { registrations } = await success(allOptions);
    expect(typeErrors(registrations)).toBe("");
    const [subscription] = ofType({ registrations }, "aws:sns/topicSubscription:TopicSubscription");
    expect(subscription?.inputs["endpoint"]).toEqual({ secret: "oncall@example.com" });
    const others = registrations.filter(
      (each) => each !== subscription && each.type !== "pulumi:pulumi:Stack",
    );
    expect(JSON.stringify(others)).not.toContain("oncall@");
  });

  test("every role has the permissions boundary of the settings, and without one none has", async () => {
    const boundaries = async (run: Promise<Recording>) =>
      ofType(await run, "aws:iam/role:Role").map(({ inputs }) => inputs["permissionsBoundary"]);
    expect(await boundaries(success(allOptions))).toEqual([BOUNDARY, BOUNDARY]);
    expect(await boundaries(success(standard))).toEqual([undefined, undefined]);
  });

  test("a changed shape of the API triggers a new deployment, and the stream timeout equals that of its function", async () => {
    const [before, after] = [await success(standard), await success(allOptions)];
    const triggersOf = (recording: Recording) =>
      ofType(recording, "aws:apigateway/deployment:Deployment").map(({ inputs }) => inputs["triggers"]);
    expect(triggersOf(after)).not.toEqual(triggersOf(before));
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

  test("access logs are written on request, and the logging role of the account is not set", async () => {
    const outcome = await success(allOptions);
    expect(ofType(outcome, "aws:apigateway/account:Account")).toEqual([]);
    const stage = find(outcome, "store-orders-production-gateway-stage");
    expect(JSON.stringify(stage.inputs["accessLogSettings"])).toContain(
      "$context.integration.timeToFirstContent",
    );
  });
});
