import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { docsPage } from "../../../lib/node/docs/docs-page.ts";
import { codeOf, createHandlerFixture } from "../../http/fixture.ts";

const FILES = [
  "/docs",
  "/docs/page.js",
  "/docs/page.css",
  "/docs/swagger-ui-bundle.js?5",
  "/docs/swagger-ui.css",
];

const LARGE_FILE = "/docs/swagger-ui-bundle.js?5";
const SMALL_FILES = FILES.filter((path) => path !== LARGE_FILE);

describe("every file of the page", () => {
  test.each(FILES)("%s is public, is not counted, and has a strict content security policy", async (path) => {
    const { send, events } = await createHandlerFixture({ documents: docsPage() });
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
});

describe("a document is read and compressed once", () => {
  test.each([...SMALL_FILES, "/openapi.json"])("all responses with %s share its bytes", async (path) => {
    const { handler } = await createHandlerFixture({ documents: docsPage() });
    const get = (encoding: string) =>
      handler.respond?.(new Request(`http://localhost${path}`, { headers: { "accept-encoding": encoding } }));
    const bodies: Uint8Array[] = [];
    for (const encoding of ["gzip", "gzip", "identity", "identity"])
      bodies.push((await get(encoding))?.body as Uint8Array);
    const [packed = expect.fail(), again, plain = expect.fail(), once] = bodies;
    expect([again?.buffer === packed.buffer, once?.buffer === plain.buffer]).toEqual([true, true]);
    expect(gunzipSync(packed).equals(plain)).toBe(true);
  });
});

test("the page refers to no other host and contains no inline script or style", async () => {
  const { send } = await createHandlerFixture({ documents: docsPage() });
  const { text, headers } = await send("GET", "/docs");
  expect(headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(text).not.toMatch(/\/\/|<script>|<style|style=|onload=/);
  for (const [, path] of text.matchAll(/(?:src|href)="([^"]+)"/g)) {
    expect((await send("GET", `/${path}`)).status, path).toBe(200);
  }
});

test.each(["/docs/nothing", "/docs/package.json", "/docs/__proto__", "/docs/page.js/b", "/docsx"])(
  "%s is not a file of the page",
  async (path) => {
    const { handler } = await createHandlerFixture({ documents: docsPage() });
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
  },
);

test("the page explains how to install Swagger UI if it is missing", async () => {
  const resolve = () => {
    throw new Error("Cannot find module");
  };
  const { send } = await createHandlerFixture({ documents: docsPage({ resolve }) });
  const { status, headers, text } = await send("GET", "/docs");
  expect([status, headers.get("content-type")]).toEqual([200, "text/plain; charset=utf-8"]);
  expect(text).toContain("npm install swagger-ui-dist");
  expect((await send("GET", "/docs/swagger-ui-bundle.js")).status).toBe(404);
});

describe("the root", () => {
  const BROWSER = { accept: "text/html,application/xhtml+xml,*/*;q=0.8", authorization: "" };

  test("leads a browser to the page, without a key and uncounted, also below a base path", async () => {
    const { send } = await createHandlerFixture({ documents: docsPage() });
    const { status, headers } = await send("GET", "/", BROWSER);
    expect({ status, location: headers.get("location"), vary: headers.get("vary") }).toEqual({
      status: 302,
      location: "docs",
      vary: "accept",
    });
    expect(headers.get("x-ratelimit-limit")).toBeNull();
    const shop = await createHandlerFixture({ documents: docsPage(), basePath: "/shop" });
    expect((await shop.send("GET", "/shop/", BROWSER)).headers.get("location")).toBe("docs");
  });

  test("the root is no route for a program", async () => {
    const { send } = await createHandlerFixture({ documents: docsPage() });
    expect(codeOf(await send("GET", "/", { accept: "*/*" }))).toBe("route_not_found");
  });
});
