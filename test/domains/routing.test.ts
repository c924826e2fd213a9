import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { DomainsInput } from "../../lib/domains/mapping.ts";
import { defineDomains } from "../../lib/domains/parse.ts";
import { hostTable, routeHost } from "../../lib/domains/routing.ts";

const PLATFORM = "d-1a2b3c.execute-api.eu-west-1.example.net";
const input: DomainsInput = {
  primary: "orders.example.com",
  aliases: ["api.example.com"],
  redirects: [{ from: "www.example.com", to: "orders.example.com" }],
};
const define = (change: DomainsInput = {}) => defineDomains({ ...input, ...change }, { plan: "pro" });
const domains = define();
const table = hostTable(domains, [PLATFORM, "127.0.0.1", "[::1]"]);

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
    expect(routeHost(table, host, "/v1/store/orders")).toEqual({ action: "serve" });
  });

  test.each([
    undefined,
    null,
    "",
    ".",
    ":443",
    "evil.example.org",
    "example.com",
    "orders.example.com.evil.example.org",
    "xorders.example.com",
    "orders.example.com..",
    ".orders.example.com",
    "orders..example.com",
    "orders.example.com:443:443",
    "orders.example.com:x",
    "orders.example.com:123456",
    "orders.example.com ",
    " orders.example.com",
    "orders.example.com\r\nX-Injected: 1",
    "orders.example.com\n",
    "orders.example.com\0",
    "orders.example.com\t",
    "orders.example.com,www.example.com",
    "orders.example.com/",
    "orders.example.com?",
    "orders.example.com#",
    "orders.example.com\\",
    "me@orders.example.com",
    "me:pw@www.example.com",
    "https://orders.example.com",
    "www%2eexample.com",
    "ｗｗｗ.example.com",
    "www。example.com",
    "ſhop.example.com",
    "constructor",
    "__proto__",
    "*",
    "127.0.0.2",
    "[::1",
    "::1",
    "www.example.com".repeat(10_000),
  ])("a request to the host %j is misdirected", (host) => {
    expect(routeHost(table, host, "/v1/store/orders")).toEqual({ action: "misdirected" });
  });

  test.each(["www.example.com", "WWW.EXAMPLE.COM", "www.example.com.", "www.example.com:80"])(
    "the host %j redirects to the primary, without a port",
    (host) => {
      expect(routeHost(table, host, "/v1/store/orders?x=1")).toEqual({
        action: "redirect",
        status: 301,
        location: "https://orders.example.com/v1/store/orders?x=1",
      });
    },
  );

  test.each([
    "/",
    "/v1/store/orders",
    "/a%2Fb/%E2%82%AC/%zz",
    "/a/../../etc/passwd",
    "/a//b///c",
    "/?",
    "/?a=1&a=2&b=%20+%00",
    "/?next=https://evil.example.org",
    "/path;v=1,2/(x)!*'~?q=[]{}|^`<>\"",
    "//evil.example.org/x",
    "///evil.example.org",
    "/\\evil.example.org",
    "/\\\\evil.example.org",
    "/@evil.example.org",
    "/:443@evil.example.org",
    "/.evil.example.org",
    "/\xe4\xff",
    `/${"long/".repeat(2_000)}`,
  ])("a redirect keeps the path and query %j byte for byte and leads to the primary", (target) => {
    const route = routeHost(table, "www.example.com", target);
    expect(route).toEqual({
      action: "redirect",
      status: 301,
      location: `https://orders.example.com${target}`,
    });
    if (route.action === "redirect") expect(new URL(route.location).host).toBe("orders.example.com");
  });

  test.each([
    ["http://www.example.com/v1?x=//y", "/v1?x=//y"],
    ["HTTP://WWW.example.com:80/v1", "/v1"],
    ["https://www.example.com", "/"],
    ["http://www.example.com?x=1", "/?x=1"],
    ["*", "/"],
    ["", "/"],
  ])("a redirect reads the request target %j as the path %j", (target, path) => {
    expect(routeHost(table, "www.example.com", target)).toMatchObject({
      location: `https://orders.example.com${path}`,
    });
  });

  test.each([
    "http://evil.example.org/v1",
    "http://www.example.com@evil.example.org/",
    "http://www.example.com\\@evil.example.org/",
    "http:///v1",
    "evil.example.org",
    "evil.example.org:443",
    "@evil.example.org",
    ".evil.example.org",
    ":8080/",
    "\\evil.example.org",
    "?x=1",
    "#x",
    " /v1",
    "/v1\r\nSet-Cookie: a=b",
    "/v1\nX: 1",
    "/v1\u2028",
    "/v1\u560a\u560dSet-Cookie: a=b",
    "/a b",
    "/\t",
    "/\0",
    "/\x7f",
    "javascript:alert(1)",
  ])(
    "a redirect host with the request target %j, which is not a path of this host, is misdirected",
    (target) => {
      expect(routeHost(table, "www.example.com", target)).toEqual({ action: "misdirected" });
    },
  );

  test("a redirect leads to the primary in a single header line, whatever the host and target", () => {
    const host = fc.oneof(
      fc.constantFrom("www.example.com", "WWW.example.com:80"),
      fc.string({ unit: "binary" }),
    );
    const target = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.string({ unit: "binary" }).map((rest) => `/${rest}`),
      fc.webUrl(),
      fc.webPath().map((path) => `/${path}`),
    );
    fc.assert(
      fc.property(host, target, (host, target) => {
        const route = routeHost(table, host, target);
        if (route.action !== "redirect") return;
        expect(route.location).toMatch(/^https:\/\/orders\.example\.com\/[\x21-\x7e\x80-\xff]*$/);
        expect(new URL(route.location).origin).toBe("https://orders.example.com");
      }),
      { numRuns: 2_000 },
    );
  });
});

test("without configured domains every host is served", () => {
  expect(routeHost(hostTable(undefined, [PLATFORM]), "evil.example.org", "/")).toEqual({ action: "serve" });
});

test("a removed redirect host is misdirected with the next table", () => {
  const without = hostTable(define({ redirects: [] }), [PLATFORM]);
  expect(routeHost(without, "www.example.com", "/")).toEqual({ action: "misdirected" });
});

test("the platform's own host is served even if the mapping redirects from it", () => {
  const redirects = [{ from: PLATFORM, to: "orders.example.com" }];
  const hijacked = hostTable(define({ redirects }), [PLATFORM]);
  expect(routeHost(hijacked, PLATFORM, "/")).toEqual({ action: "serve" });
});

test("an empty mapping serves only the platform's own host", () => {
  const table = hostTable(defineDomains({}), [PLATFORM]);
  expect(routeHost(table, PLATFORM, "/")).toEqual({ action: "serve" });
  for (const host of ["orders.example.com", "", undefined]) {
    expect(routeHost(table, host, "/")).toEqual({ action: "misdirected" });
  }
});

test("an invalid platform host adds no host to the table", () => {
  const table = hostTable(domains, ["", "not a host", "x\r\ny"]);
  for (const host of ["", undefined, "not a host", "x\r\ny"]) {
    expect(routeHost(table, host, "/")).toEqual({ action: "misdirected" });
  }
});

test("routing imports nothing at run time, to keep function bundles small", async () => {
  const { readFile } = await import("node:fs/promises");
  const source = await readFile(new URL("../../lib/domains/routing.ts", import.meta.url), "utf8");
  expect(source.match(/^import (?!type ).*$/gm)).toBeNull();
});
