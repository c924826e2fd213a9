import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { defineDomains } from "../../lib/domains/parse.ts";
import { hostTable } from "../../lib/domains/routing.ts";
import { anyText } from "../support/any-text.ts";

const primary = "orders.example.com";
const domains = defineDomains(
  { primary, redirects: [{ from: "www.example.com", to: primary }] },
  { plan: "pro" },
);
const table = hostTable(domains, ["d-1a2b3c.execute-api.eu-west-1.example.net"]);

describe("routing with domains configured", () => {
  test.each(["www.example.com", "WWW.EXAMPLE.COM", "www.example.com.", "www.example.com:80"])(
    "the host %j redirects to the primary, without a port",
    (host) => {
      expect(table.route(host, "/v1/store/orders?x=1")).toEqual({
        action: "redirect",
        status: 301,
        location: "https://orders.example.com/v1/store/orders?x=1",
      });
    },
  );

  test.each([
    ...["/", "/v1/store/orders", "/a%2Fb/%E2%82%AC/%zz", "/a/../../etc/passwd", "/a//b///c", "/?"],
    ...["/?a=1&a=2&b=%20+%00", "/?next=https://evil.example.org", "/path;v=1,2/(x)!*'~?q=[]{}|^`<>\""],
    ...["//evil.example.org/x", "///evil.example.org", "/\\evil.example.org", "/\\\\evil.example.org"],
    ...["/@evil.example.org", "/:443@evil.example.org", "/.evil.example.org", "/\xe4\xff"],
    ...[`/${"long/".repeat(2_000)}`],
  ])("a redirect keeps the path and query %j byte for byte and leads to the primary", (target) => {
    const route = table.route("www.example.com", target);
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
    expect(table.route("www.example.com", target)).toMatchObject({
      location: `https://orders.example.com${path}`,
    });
  });

  test.each([
    ...["http://evil.example.org/v1", "http://www.example.com@evil.example.org/"],
    ...["http://www.example.com\\@evil.example.org/", "http:///v1", "evil.example.org"],
    ...["evil.example.org:443", "@evil.example.org", ".evil.example.org", ":8080/"],
    ...["\\evil.example.org", "?x=1", "#x", " /v1", "/v1\r\nSet-Cookie: a=b", "/v1\nX: 1", "/v1\u2028"],
    ...["/v1\u560a\u560dSet-Cookie: a=b", "/a b", "/\t", "/\0", "/\x7f", "javascript:alert(1)"],
  ])(
    "a redirect host with the request target %j, which is not a path of this host, is misdirected",
    (target) => {
      expect(table.route("www.example.com", target)).toEqual({ action: "misdirected" });
    },
  );

  test("a redirect leads to the primary in a single header line, whatever the host and target", () => {
    const host = fc.oneof(fc.constantFrom("www.example.com", "WWW.example.com:80"), anyText());
    const path = anyText().map(encodeURI);
    const target = fc.oneof(
      anyText(),
      anyText().map((rest) => `/${rest}`),
      fc.tuple(fc.webAuthority(), path).map(([authority, path]) => `http://${authority}/${path}`),
      path.map((path) => `//${path}`),
    );
    fc.assert(
      fc.property(host, target, (host, target) => {
        const route = table.route(host, target);
        if (route.action !== "redirect") return;
        expect(route.location).toMatch(/^https:\/\/orders\.example\.com\/[\x21-\x7e\x80-\xff]*$/);
        expect(new URL(route.location).origin).toBe("https://orders.example.com");
      }),
      { numRuns: 2_000 },
    );
  });
});
