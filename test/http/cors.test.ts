import { expect, test } from "vitest";
import { defineOperation } from "../../lib/http/define-operation.ts";
import { createHandler } from "../../lib/http/handler.ts";
import { OPERATIONS } from "../../lib/http/operations.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { statusDefinition } from "./custom-operations-fixture.ts";
import { createHandlerFixture } from "./fixture.ts";

const SHOP = "https://shop.example.com";
const PREFLIGHT = {
  authorization: "",
  "access-control-request-method": "DELETE",
  "access-control-request-headers": "authorization",
};
const corsOrigins = [SHOP, "http://localhost:5173"];

test("a preflight from a configured origin is answered without a key and without counting", async () => {
  const { send } = await createHandlerFixture({ corsOrigins });
  for (const path of ["/v1/store/orders", "/v1/store/orders/1"]) {
    const { status, headers, text } = await send("OPTIONS", path, { ...PREFLIGHT, origin: SHOP });
    expect([status, text]).toEqual([204, ""]);
    expect(headers.get("access-control-allow-origin")).toBe(SHOP);
    expect(headers.get("access-control-allow-methods")).toBe("GET, HEAD, DELETE");
    expect(headers.get("access-control-allow-headers")).toBe("authorization");
    expect(headers.get("access-control-max-age")).toBe("600");
    expect(headers.get("access-control-allow-credentials")).toBeNull();
    expect(headers.get("vary")).toBe("access-control-request-headers, origin");
    expect(headers.get("x-ratelimit-limit")).toBeNull();
  }
  const anonymous = await send("GET", "/v1/store/orders", { authorization: "" });
  expect(anonymous.headers.get("x-ratelimit-remaining")).toBe("59");
});

test.each([
  ["authorization,traceparent,tracestate,baggage", "authorization,traceparent,tracestate,baggage"],
  ["Authorization, X-Datadog-Trace-Id , sentry-trace", "Authorization, X-Datadog-Trace-Id , sentry-trace"],
  [undefined, "authorization, content-type"],
  ["", "authorization, content-type"],
  ["authorization, a b", "authorization, content-type"],
  ["\u00e9", "authorization, content-type"],
])("a page of a configured origin that asks to send %j may send %j", async (requested, expected) => {
  const { "access-control-request-headers": _, ...preflight } = PREFLIGHT;
  const { send } = await createHandlerFixture({ corsOrigins });
  const { status, headers } = await send("OPTIONS", "/v1/store/orders", {
    ...{ ...preflight, origin: SHOP },
    ...(requested !== undefined && { "access-control-request-headers": requested }),
  });
  expect([status, headers.get("access-control-allow-headers")]).toEqual([204, expected]);
});

test("a page of a configured origin can read every response with its limits, errors included", async () => {
  const operation = defineOperation({
    ...{ ...statusDefinition, parameters: { orderId: { description: "Any.", type: "string" } } },
    handle: async () => ({ status: 201, headers: { Location: "a", "X-Total": "1" } }),
  });
  const { send } = await createHandlerFixture({ corsOrigins, operations: [...OPERATIONS, operation] });
  const always = ["date", "x-request-id", "cache-control"];
  const limits = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"];
  for (const [method, path, headers, further] of [
    ["GET", "/v1/store/orders", {}, limits],
    ["DELETE", "/v1/store/orders/1", {}, limits],
    ["DELETE", "/v1/store/orders/2", {}, limits],
    ["POST", "/v1/store/orders", {}, [...limits, "allow"]],
    ["GET", "/v1/store/orders", { authorization: "" }, [...limits, "www-authenticate"]],
    ["GET", "/v1/pets/1", {}, [...limits, "deprecation", "sunset", "link"]],
    ["GET", "/v1/store/orders/1/status", {}, [...limits, "location", "x-total"]],
    ["GET", "/nowhere", {}, limits],
    ["GET", "/openapi.json", {}, []],
  ] as const) {
    const response = await send(method, path, { ...headers, origin: "http://localhost:5173" });
    expect(response.headers.get("access-control-allow-origin")).toBe("http://localhost:5173");
    const exposed = response.headers.get("access-control-expose-headers")?.split(", ");
    expect(exposed).toEqual(expect.arrayContaining([...always, ...further]));
    expect(exposed).toHaveLength(new Set(exposed).size);
    expect(response.headers.get("vary")).toMatch(/(?:^|, )origin$/);
  }
});

test("a compressed response varies by the encoding too, so that a cache gives it to no client without gzip", async () => {
  const { send } = await createHandlerFixture({ corsOrigins });
  const { headers } = await send("GET", "/openapi.json", { "accept-encoding": "gzip" });
  expect([headers.get("content-encoding"), headers.get("vary")]).toEqual(["gzip", "accept-encoding, origin"]);
});

test.each([
  "https://evil.example",
  "https://shop.example.com.evil.example",
  "http://shop.example.com",
  "null",
])("a page of %s gets no permission, and its preflight is an unauthenticated request", async (origin) => {
  const { send } = await createHandlerFixture({ corsOrigins });
  const preflight = await send("OPTIONS", "/v1/store/orders", { ...PREFLIGHT, origin });
  expect([preflight.status, preflight.headers.get("x-ratelimit-remaining")]).toEqual([401, "59"]);
  const list = await send("GET", "/v1/store/orders", { origin });
  for (const { headers } of [preflight, list]) {
    expect(headers.get("access-control-allow-origin")).toBeNull();
    expect(headers.get("vary")).toMatch(/origin$/);
  }
});

test("an OPTIONS request that is no preflight is not allowed at the path", async () => {
  const { send } = await createHandlerFixture({ corsOrigins });
  expect((await send("OPTIONS", "/v1/store/orders", { origin: SHOP })).status).toBe(405);
  expect((await send("OPTIONS", "/v1/store/orders", PREFLIGHT)).status).toBe(401);
  expect((await send("GET", "/v1/store/orders", { ...PREFLIGHT, origin: SHOP })).status).toBe(401);
});

test("without corsOrigins no response has a CORS header and a preflight gets 401", async () => {
  const { send } = await createHandlerFixture();
  const preflight = await send("OPTIONS", "/v1/store/orders", { ...PREFLIGHT, origin: SHOP });
  const list = await send("GET", "/v1/store/orders", { origin: SHOP });
  expect([preflight.status, list.status]).toEqual([401, 200]);
  for (const { headers } of [preflight, list]) {
    expect([...headers.keys()].filter((name) => name.startsWith("access-control"))).toEqual([]);
    expect(headers.get("vary") ?? "").not.toContain("origin");
  }
});

const NO_ORIGIN = ["", "null", "shop.example.com", "https://*.example.com", "https://shop.example.com/*"];

test.each<readonly [origin: string, message: string]>([
  ["*", "Name each origin, such as https://shop.example.com. A wildcard is not accepted."],
  ...[...NO_ORIGIN, "view-source-https://shop.example.com", "ftp://shop.example.com"].map(
    (origin) => [origin, "Use an origin, such as https://shop.example.com."] as const,
  ),
  ["HTTPS://shop.example.com", "Use the origin as browsers send it: https://shop.example.com."],
  ["https://shop.example.com/", "Use the origin as browsers send it: https://shop.example.com."],
  ["https://Shop.example.com:443/a", "Use the origin as browsers send it: https://shop.example.com."],
  ["https://bücher.example", "Use the origin as browsers send it: https://xn--bcher-kva.example."],
])("the origin %s is rejected at startup with the fix", (origin, message) => {
  expect(() => createHandler({ store: createMemoryStore(), corsOrigins: [SHOP, origin] })).toThrow(
    expect.objectContaining({ code: "invalid_input", issues: [{ path: "corsOrigins[1]", message }] }),
  );
});
