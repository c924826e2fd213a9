import { expect, test } from "vitest";
import { defineDomains } from "../../lib/domains/parse.ts";
import { hostTable } from "../../lib/domains/routing.ts";
import { codeOf, createHandlerFixture } from "./fixture.ts";

const redirects = [{ from: "www.orders.example.com", to: "orders.example.com" }];
const context = { plan: "pro" } as const;
const domains = defineDomains(
  { primary: "orders.example.com", aliases: ["service.example.com"], redirects },
  context,
);
const openDomains = () => createHandlerFixture({ hosts: () => hostTable(domains, ["abc.platform.example"]) });

test.each([
  ["GET", "/v1/store/orders?a=1&b=%2F"],
  ["DELETE", "/v1/store/orders/1"],
  ["POST", "/anything/at//all?x=%00"],
  ["GET", "/openapi.json"],
])("a redirect host replies 301 to %s %s, without a key and without counting", async (method, target) => {
  const { send, events } = await openDomains();
  const from = { host: "www.orders.example.com", authorization: "" };
  const { status, headers, text } = await send(method, target, from);
  expect([status, headers.get("location")]).toEqual([301, `https://orders.example.com${target}`]);
  expect(headers.get("cache-control")).toBe("public, max-age=300");
  expect(headers.get("content-type")).toBe("text/plain; charset=utf-8");
  expect(headers.get("x-ratelimit-limit")).toBeNull();
  expect(text).toBe(`Moved permanently to https://orders.example.com${target}\n`);
  const served = await send("GET", "/v1/store/orders", { host: "orders.example.com" });
  expect(served.headers.get("x-ratelimit-remaining")).toBe("59");
  expect(events[0]).toMatchObject({ status: 301 });
});

test.each(["evil.example", "orders.example.com.evil.example", "127.0.0.1:8787", "", "a b", "[::1]"])(
  "the host %j is not configured: 421, without rate-limit headers",
  async (host) => {
    const { handler } = await openDomains();
    const response = await handler(new Request("http://localhost/v1/store/orders"), { host });
    const answer = { status: response.status, headers: response.headers, text: await response.text() };
    expect([answer.status, codeOf(answer)]).toEqual([421, "misdirected_request"]);
    expect(answer.headers.get("x-ratelimit-limit")).toBeNull();
  },
);

test.each(["/healthz", "/readyz"])(
  "%s is served on a host that is not configured, such as an IP address; a redirect host redirects it",
  async (path) => {
    const { send } = await openDomains();
    for (const host of ["10.0.0.7:8787", "orders.example.com", "unknown.example", ""])
      expect((await send("GET", path, { host })).status).toBe(200);
    expect((await send("POST", path, { host: "10.0.0.7" })).status).toBe(421);
    const { status, headers } = await send("GET", path, { host: "www.orders.example.com" });
    expect([status, headers.get("location")]).toEqual([301, `https://orders.example.com${path}`]);
  },
);

test.each(["//evil.example/x", "/\\evil.example", "http://evil.example/", "*", "", "/%0d%0aa:b", "/\ud800"])(
  "the target %j and the headers of a proxy lead to no other host, and are no failure of the service",
  async (target) => {
    const { handler } = await openDomains();
    const headers = { forwarded: "host=evil.example", "x-forwarded-host": "evil.example" };
    for (const host of ["www.orders.example.com", "orders.example.com"]) {
      const response = await handler(new Request("http://localhost/", { headers }), { host, target });
      expect([200, 301, 400, 401, 421]).toContain(response.status);
      const location = response.headers.get("location");
      expect(location !== null).toBe(response.status === 301);
      if (location !== null) expect(new URL(location).host).toBe("orders.example.com");
    }
  },
);

test("a changed mapping takes effect at the next request, and without a mapping every host is served", async () => {
  let current: ReturnType<typeof defineDomains> | undefined = domains;
  const { send } = await createHandlerFixture({ hosts: () => hostTable(current, ["localhost"]) });
  const status = async (host: string) => (await send("GET", "/v1/store/orders", { host })).status;
  expect(await status("www.orders.example.com")).toBe(301);
  current = defineDomains({ primary: "orders.example.com" }, context);
  expect(await status("www.orders.example.com")).toBe(421);
  expect(await status("orders.example.com")).toBe(200);
  current = defineDomains({});
  expect(await status("orders.example.com")).toBe(421);
  expect(await status("localhost")).toBe(200);
  current = undefined;
  expect(await status("www.orders.example.com")).toBe(200);
});

test("several Host fields, which a server has joined, are 400", async () => {
  const { send } = await createHandlerFixture();
  expect((await send("GET", "/v1/store/orders", { host: "a.example, b.example" })).status).toBe(400);
});
