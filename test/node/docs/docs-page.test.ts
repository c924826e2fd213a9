import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { hostTable } from "../../../lib/domains/routing.ts";
import { docsPage } from "../../../lib/node/docs/docs-page.ts";
import { codeOf, openShop } from "../../http/fixture.ts";

const PARTS = [
  "/docs",
  "/docs/",
  "/docs/page.js",
  "/docs/page.css",
  "/docs/swagger-ui-bundle.js?5",
  "/docs/swagger-ui.css",
];

describe("every part of the page", () => {
  test.each(PARTS)("%s needs no key, is not counted, and is held to itself", async (path) => {
    const { send, events } = await openShop({ pages: docsPage() });
    const { status, headers, text } = await send("GET", path, { authorization: "" });
    expect(status).toBe(200);
    expect(text.length).toBeGreaterThan(100);
    expect([...headers.keys()].filter((name) => name.startsWith("x-ratelimit"))).toEqual([]);
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    const policy = headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|\*|https?:/);
    expect(events).toMatchObject([{ status: 200 }]);
    expect((await send("GET", "/v1/store/orders")).headers.get("x-ratelimit-remaining")).toBe("59");
  });

  test.each(PARTS)("%s comes compressed to those who can read it, and without body to HEAD", async (path) => {
    const { handler } = await openShop({ pages: docsPage() });
    const ask = (method: string, encoding: string) =>
      handler(new Request(`http://localhost${path}`, { method, headers: { "accept-encoding": encoding } }));
    const plain = Buffer.from(await (await ask("GET", "identity")).arrayBuffer());
    const packed = await ask("GET", "gzip");
    expect(packed.headers.get("content-encoding")).toBe("gzip");
    expect(gunzipSync(await packed.arrayBuffer()).equals(plain)).toBe(true);
    const head = await ask("HEAD", "identity");
    expect([head.status, await head.text()]).toEqual([200, ""]);
  });
});

test("the page names no other host, and holds no script and no style of its own", async () => {
  const { send } = await openShop({ pages: docsPage() });
  const { text, headers } = await send("GET", "/docs");
  expect(headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(text).not.toMatch(/\/\/|<script>|<style|style=|onload=/);
  for (const [, path] of text.matchAll(/(?:src|href)="([^"]+)"/g)) {
    expect((await send("GET", `${path}`)).status, path).toBe(200);
  }
});

test.each([
  "/docs/nothing",
  "/docs/package.json",
  "/docs/../package.json",
  "/docs/__proto__",
  "/docs/page.js/b",
  "/docsx",
])("%s is none of its parts", async (path) => {
  const { handler } = await openShop({ pages: docsPage() });
  const url = "http://localhost/";
  const request = { url: url + path.slice(1), method: "GET", headers: new Headers() } as Request;
  const { status, headers, ...response } = await handler(request).then(async (got) => ({
    status: got.status,
    headers: got.headers,
    text: await got.text(),
  }));
  expect(status).toBe(401);
  expect(codeOf({ status, headers, text: response.text })).toBe("missing_api_key");
  expect(headers.get("x-ratelimit-limit")).toBe("60");
});

test("without the option there is no page", async () => {
  const { send } = await openShop();
  expect((await send("GET", "/docs")).status).toBe(404);
});

test("where Swagger UI is not installed the page says what to do", async () => {
  const resolve = () => {
    throw new Error("Cannot find module");
  };
  const { send } = await openShop({ pages: docsPage({ resolve }) });
  const { status, text } = await send("GET", "/docs");
  expect(status).toBe(200);
  expect(text).toContain("npm install swagger-ui-dist");
  expect((await send("GET", "/docs/swagger-ui-bundle.js")).status).toBe(404);
});

test("a redirect host redirects the page as well (decision 22)", async () => {
  const redirect = { from: "old.example.com", to: "orders.example.com", status: 301 } as const;
  const table = hostTable({ primary: "orders.example.com", aliases: [], redirects: [redirect] });
  const { send } = await openShop({ pages: docsPage(), hosts: () => table });
  const { status, headers } = await send("GET", "/docs", { host: "old.example.com" });
  expect([status, headers.get("location")]).toEqual([301, "https://orders.example.com/docs"]);
  expect((await send("GET", "/docs", { host: "other.example.com" })).status).toBe(421);
});

test("a page that fails is an internal error and tells nothing", async () => {
  const { send, events } = await openShop({ pages: async () => Promise.reject(new Error("secret")) });
  const answer = await send("GET", "/docs");
  expect(codeOf(answer)).toBe("internal_error");
  expect(answer.text).not.toContain("secret");
  expect(events).toMatchObject([{ status: 500, error: { message: "secret" } }]);
});
