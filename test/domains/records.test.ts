import { expect, test } from "vitest";
import { defineDomains } from "../../lib/domains/parse.ts";
import { recordsAt, recordsOf } from "../../lib/domains/records.ts";
import { locateInZone } from "../../lib/domains/zone.ts";

const TARGET = "d-1a2b3c.execute-api.eu-west-1.example.net";

test.each([
  ["orders.example.com", "example.com", "orders"],
  ["v1.orders.example.com", "example.com", "v1.orders"],
  ["orders.example.co.uk", "example.co.uk", "orders"],
  ["www.shop.uk.com", "shop.uk.com", "www"],
  ["a.b.city.kawasaki.jp", "city.kawasaki.jp", "a.b"],
  ["orders.shop.unlisted", "shop.unlisted", "orders"],
  ["orders.shop.any.kawasaki.jp", "shop.any.kawasaki.jp", "orders"],
  ["xn--bcher-kva.xn--80aatcn8h.xn--p1ai", "xn--80aatcn8h.xn--p1ai", "xn--bcher-kva"],
])("%s gets a CNAME in the zone %s with the label %s", (host, zone, name) => {
  expect(recordsAt(locateInZone(host), { host, role: "primary" }, TARGET)[0]).toEqual({
    host,
    role: "primary",
    zone,
    zoneSource: "public_suffix_list",
    type: "CNAME",
    name,
    value: TARGET,
    ttl: 3600,
    alternatives: [],
  });
});

test.each(["example.com", "example.co.uk", "shop.uk.com", "city.kawasaki.jp"])(
  "the apex %s gets an ALIAS, with ANAME and a flattened CNAME as alternatives",
  (host) => {
    expect(recordsAt(locateInZone(host), { host, role: "alias" }, TARGET)[0]).toMatchObject({
      zone: host,
      type: "ALIAS",
      name: "@",
      value: TARGET,
      ttl: 3600,
      alternatives: ["ANAME", "CNAME, if the provider flattens it"],
    });
  },
);

test("a known zone takes precedence over the public suffix list, and the longest match wins", () => {
  const zones = ["example.com", "eu.example.com", "xample.com"];
  expect(locateInZone("orders.eu.example.com", zones)).toEqual({
    zone: "eu.example.com",
    zoneSource: "given",
    label: "orders",
    apex: false,
  });
  expect(locateInZone("eu.example.com", zones)).toEqual({
    zone: "eu.example.com",
    zoneSource: "given",
    label: "@",
    apex: true,
  });
  expect(locateInZone("orders.example.org", zones)).toEqual({
    zone: "example.org",
    zoneSource: "public_suffix_list",
    label: "orders",
    apex: false,
  });
});

test("recordsOf returns a record for every host, the primary first", () => {
  const records = recordsOf(
    defineDomains(
      {
        primary: "example.com",
        aliases: ["api.example.com"],
        redirects: [{ from: "www.example.com", to: "example.com" }],
      },
      { plan: "pro" },
    ),
    TARGET,
  );
  expect(records.map(({ host, role, type }) => [host, role, type])).toEqual([
    ["example.com", "primary", "ALIAS"],
    ["api.example.com", "alias", "CNAME"],
    ["www.example.com", "redirect", "CNAME"],
  ]);
});
