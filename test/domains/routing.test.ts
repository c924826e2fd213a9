import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { DomainMapping, DomainsInput } from "../../lib/domains/mapping.ts";
import { defineDomains } from "../../lib/domains/parse.ts";
import { hostTable } from "../../lib/domains/routing.ts";
import { anyText } from "../support/any-text.ts";

const PLATFORM = "d-1a2b3c.execute-api.eu-west-1.example.net";
const input: DomainsInput = {
  primary: "orders.example.com",
  aliases: ["api.example.com"],
  redirects: [{ from: "www.example.com", to: "orders.example.com" }],
};
const define = (change: DomainsInput = {}) => defineDomains({ ...input, ...change }, { plan: "pro" });
const domains = define();
const SERVED = ["orders.example.com", "api.example.com"];
const table = hostTable(domains, [PLATFORM, "127.0.0.1", "[::1]"]);

test("the custom hosts are those of the mapping", () => {
  expect([...table.customHosts]).toEqual(["orders.example.com", "api.example.com", "www.example.com"]);
  expect([...hostTable(undefined, [PLATFORM]).customHosts]).toEqual([]);
});

describe("routing with domains configured", () => {
  test.each([
    "orders.example.com",
    "ORDERS.Example.COM",
    "orders.example.com.",
    "orders.example.com:8443",
    "Orders.Example.Com.:443",
    "orders.example.com:",
    "api.example.com",
    PLATFORM,
    `${PLATFORM.toUpperCase()}:443`,
    "127.0.0.1:8787",
    "[::1]:8787",
  ])("a request to the host %j is served", (host) => {
    expect(table.route(host, "/v1/store/orders")).toEqual({ action: "serve" });
  });

  const spelled = (host: string) =>
    new RegExp(`^${host.replaceAll(/[.[\]]/g, "\\$&")}\\.?(:\\d{0,5})?$`, "i");
  const served = [...SERVED, PLATFORM].map(spelled);
  const near = fc
    .tuple(
      fc.constantFrom(...SERVED, "www.example.com", PLATFORM),
      fc.nat({ max: 40 }),
      fc.nat({ max: 2 }),
      fc.oneof(
        anyText(),
        fc.constantFrom(".", ":", ":443", ":123456", "@", "/", "\n", "ſ", "。", "%2e", " ", ","),
      ),
    )
    .map(([host, at, removed, inserted]) => host.slice(0, at) + inserted + host.slice(at + removed));

  test("a host that is near to one of the table is served or redirected only as another spelling of it", () => {
    const counts = { serve: 0, redirect: 0, misdirected: 0 };
    const check = (host: string) => {
      const { action } = table.route(host, "/v1/store/orders");
      const isServed = served.some((each) => each.test(host));
      const isRedirected = spelled("www.example.com").test(host);
      expect(action, host).toBe(isServed ? "serve" : isRedirected ? "redirect" : "misdirected");
      counts[action]++;
    };
    fc.assert(fc.property(near, check), { numRuns: 5_000 });
    expect(Math.min(...Object.values(counts))).toBeGreaterThan(20);
  });

  test.each([
    ...[undefined, null, "", ".", ":443", "::1", "[::1", "127.0.0.2", "constructor", "__proto__", "*"],
    ...["evil.example.org", "example.com", "orders.example.com.evil.example.org", "xorders.example.com"],
    ...["me:pw@www.example.com", "https://orders.example.com", "www.example.com".repeat(10_000)],
  ])("a request to the host %j is misdirected", (host) => {
    expect(table.route(host, "/v1/store/orders")).toEqual({ action: "misdirected" });
  });
});

test("without configured domains every host is served", () => {
  expect(hostTable(undefined, [PLATFORM]).route("evil.example.org", "/")).toEqual({ action: "serve" });
});

test("a removed redirect host is misdirected with the next table", () => {
  const without = hostTable(define({ redirects: [] }), [PLATFORM]);
  expect(without.route("www.example.com", "/")).toEqual({ action: "misdirected" });
});

test("the platform's own host is served even if the mapping redirects from it", () => {
  const redirects = [{ from: PLATFORM, to: "orders.example.com" }];
  const hijacked = hostTable(define({ redirects }), [PLATFORM]);
  expect(hijacked.route(PLATFORM, "/")).toEqual({ action: "serve" });
});

test("an empty mapping serves only the platform's own host", () => {
  const table = hostTable(defineDomains({}), [PLATFORM]);
  expect(table.route(PLATFORM, "/")).toEqual({ action: "serve" });
  for (const host of ["orders.example.com", "", undefined]) {
    expect(table.route(host, "/")).toEqual({ action: "misdirected" });
  }
});

test("an invalid platform host adds no host to the table", () => {
  const table = hostTable(domains, ["", "not a host", "x\r\ny"]);
  for (const host of ["", undefined, "not a host", "x\r\ny"]) {
    expect(table.route(host, "/")).toEqual({ action: "misdirected" });
  }
});

test("routing imports only the parser of request targets at run time, to keep function bundles small", async () => {
  const { readFile } = await import("node:fs/promises");
  const source = await readFile(new URL("../../lib/domains/routing.ts", import.meta.url), "utf8");
  expect(source.match(/^import (?!type ).*$/gm)).toEqual([
    'import { splitTarget } from "../core/request-target.ts";',
  ]);
});

test("a mapping that has not been validated says which function validates it", () => {
  const mapping = { primary: "orders.example.com" } as unknown as DomainMapping;
  for (const unchecked of [mapping, { aliases: [] }, { redirects: [] }] as (typeof mapping)[])
    expect(() => hostTable(unchecked)).toThrow("The mapping has not been validated: call `defineDomains`.");
});
