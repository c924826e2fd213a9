import { expect, test } from "vitest";
import { defineDomains } from "../../lib/domains/parse.ts";
import { hostTable } from "../../lib/domains/routing.ts";
import { createHandler } from "../../lib/http/handler.ts";
import { docsPage } from "../../lib/node/docs/docs-page.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { codeOf, createHandlerFixture } from "./fixture.ts";

const basePath = "/shop/api";

test.each([
  ["/v1/store/orders", 200],
  ["/openapi.json", 200],
  ["/docs", 200],
  ["/docs/page.css", 200],
  ["/healthz", 200],
  ["/readyz", 200],
  ["/v1/nothing", 404],
])("%s is served below the base path only", async (path, status) => {
  const { send } = await createHandlerFixture({ basePath, documents: docsPage() });
  expect((await send("GET", `${basePath}${path}`)).status).toBe(status);
  for (const prefix of ["", "/shop", "/shop/apis", "/shop/api/shop/api", "/SHOP/api"]) {
    const outside = await send("GET", `${prefix}${path}`);
    expect([outside.status, codeOf(outside)]).toEqual([404, "route_not_found"]);
    expect(outside.headers.has("x-ratelimit-limit")).toBe(true);
  }
});

test.each(["/shop/api", "/shop/api/", "/shop/%61pi/v1/store/orders/", "/"])("no route: %s", async (path) => {
  const { send } = await createHandlerFixture({ basePath });
  expect(codeOf(await send("GET", path))).toBe("route_not_found");
});

test("every link follows the base path: servers, the Link of a deprecated operation, the files of the page", async () => {
  const { send } = await createHandlerFixture({ basePath, documents: docsPage() });
  const at = (link: string, path: string) => new URL(link, `https://x.example${basePath}${path}`).pathname;
  const { servers } = JSON.parse((await send("GET", `${basePath}/openapi.json`)).text);
  expect(at(servers[0].url, "/openapi.json")).toBe("/shop/api/v1");
  const { headers } = await send("GET", `${basePath}/v1/pets/1`);
  const [, link = ""] = /^<([^>]+)>/.exec(headers.get("link") ?? "") ?? [];
  expect(at(link, "/v1/pets/1")).toBe("/shop/api/openapi.json");

  const { text } = await send("GET", `${basePath}/docs`);
  const links = [...text.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, href = ""]) => at(href, "/docs"));
  expect(links).toHaveLength(6);
  for (const path of links) expect([path, (await send("GET", path)).status]).toEqual([path, 200]);
  const script = await send("GET", `${basePath}/docs/page.js`);
  expect(script.text).toContain('fetch("openapi.json")');
  const slash = await send("GET", `${basePath}/docs/`);
  expect([slash.status, at(slash.headers.get("location") ?? "", "/docs/")]).toEqual([301, "/shop/api/docs"]);
});

test("a redirect host keeps the base path", async () => {
  const domains = defineDomains(
    {
      primary: "orders.example.com",
      redirects: [{ from: "www.orders.example.com", to: "orders.example.com" }],
    },
    { plan: "pro" },
  );
  const { send } = await createHandlerFixture({ basePath, hosts: () => hostTable(domains) });
  const { headers } = await send("GET", `${basePath}/docs?a=1`, { host: "www.orders.example.com" });
  expect(headers.get("location")).toBe(`https://orders.example.com${basePath}/docs?a=1`);
});

test.each(["shop", "/shop/", "/", "//shop", "/a b", "/shop/../x", "/.", "/%73hop", "/shop?x"])(
  "the base path %s is rejected at startup with the fix",
  (invalid) => {
    const message =
      "Use a path such as /shop: with a leading slash, without a trailing one, and with letters, digits and '-._~' only.";
    expect(() => createHandler({ store: createMemoryStore(), basePath: invalid })).toThrow(
      expect.objectContaining({ issues: [{ path: "basePath", message }] }),
    );
  },
);
