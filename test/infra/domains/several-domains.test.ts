import { describe, expect, test } from "vitest";
import { cloud, zone } from "../harness/cloud.ts";
import { find, ofType, run } from "../harness/program.ts";
import { redirectFrom, success, withDomains } from "../harness/scenario.ts";

const DOMAIN = "aws:apigateway/domainName:DomainName";
const RECORD = "cloudflare:index/dnsRecord:DnsRecord";
const CERTIFICATE = "aws:acm/certificate:Certificate";

/** The record of a host that another service serves. */
const liveElsewhere = {
  ...{ id: "0123456789abcdef0123456789abcdef", zone: "example.com", name: "www.example.com" },
  ...{ type: "CNAME", content: "shop.example.net", comment: "" },
};

const severalHosts = run({
  stack: "production",
  config: withDomains(
    {
      primary: "orders.example.com",
      redirects: ["example.com", "www.example.com", "shop.eu.example.co.uk"].map(redirectFrom),
    },
    {
      "store-orders:reverify": { "www.example.com": 2 },
      "store-orders:hold": ["shop.eu.example.co.uk"],
      "store-orders:adopt": { "www.example.com": liveElsewhere.id },
    },
  ),
  cloud: cloud({
    zones: [zone("example.com"), zone("example.co.uk"), zone("eu.example.co.uk")],
    records: [liveElsewhere],
  }),
});

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
    const outcome = await success(severalHosts);
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
      "example.com": { role: "redirect", state: "live", record: { type: "CNAME", name: "@", ttl: 3600 } },
      "shop.eu.example.co.uk": { state: "pending_dns", record: { type: "CNAME", name: "shop" } },
    });
  });

  test("an internationalised zone is found, and a record in it that blocks or is adopted", async () => {
    expect((await blocked).errors).toContain("CNAME www.xn--bcher-kva.de → shop.example.net");
    const outcome = await success(adopted);
    const names = ofType(outcome, RECORD).map(({ inputs }) => inputs["name"]);
    // Other names would be changed again after each refresh.
    expect(new Set(names)).toEqual(new Set(internationalCloud.records().map(({ name }) => name)));
    expect(names).toContain("www.bücher.de");
  });

  test("domain names are created one after another, and each host has its own certificate", async () => {
    const outcome = await success(severalHosts);
    const created = ofType(outcome, DOMAIN);
    expect(created).toHaveLength(4);
    for (const [index, { dependencies }] of created.entries()) {
      if (index > 0) expect(dependencies).toContain(created[index - 1]?.urn);
    }
    for (const { inputs } of ofType(outcome, CERTIFICATE))
      expect(inputs["subjectAlternativeNames"]).toBeUndefined();
  });

  test("each host can be held, adopted or verified again", async () => {
    const outcome = await success(severalHosts);
    const names = outcome.registrations.map(({ name }) => name);
    expect(names).not.toContain("store-orders-production-shop-eu-example-co-uk-route");
    expect(find(outcome, "store-orders-production-www-example-com-route").importId).toBe(
      "zone-of-example.com/0123456789abcdef0123456789abcdef",
    );
    const triggers = ofType(outcome, CERTIFICATE).map(({ replacementTrigger }) => replacementTrigger);
    expect(triggers).toEqual([0, 0, 2, 0]);
  });
});
