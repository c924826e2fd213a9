import { describe, expect, test } from "vitest";
import { generateKey } from "../../lib/accounts/api-key.ts";
import { StoreUnavailableError } from "../../lib/core/errors.ts";
import { accessFields, type ClientInfo, type RequestEvent, toLogLine } from "../../lib/http/request-event.ts";
import { createHandlerFixture, NOON } from "./fixture.ts";

test.each([
  ["/v1/store/orders?cursor=secret", "/v1/store/orders"],
  ["/v1/store/orders#secret", "/v1/store/orders"],
  ["/v1/%6Frders/%31%2F", "/v1/orders/1%2F"],
  ["/v1/so_test_shop_0000000000", "/v1/so_test_shop_…"],
  ["/v1/so%5Flive%5Fshop%5F0000000000", "/v1/so_live_shop_…"],
  ["//a/../b", "//a/../b"],
  ["/so%255Ftest%255Fdemo%255F0123", "/so_test_demo_…"],
  ["/so%25255ftest_demo%25255f0123", "/so_test_demo_…"],
  ["/so_test_demo_%25709ih6", "/so_test_demo_…"],
  ["/%2573%256f_live_demo_01%2525323", "/so_live_demo_…"],
  ["/so_test_demo_01%2F%25709%257", "/so_test_demo_…%2Fp9%7"],
  ["/so_test_demo_%25%37%33%25%3730", "/so_test_demo_…"],
  ["/so_test_demo_%2525%2536%2563qkzd", "/so_test_demo_…"],
  ["/so_test%2525%2535%2566demo_%25%2525%33%33%25363qkzd", "/so_test_demo_…"],
  ["/a%2541%25", "/a%2541%25"],
])("the path of %s is reported as %s", async (target, path) => {
  const { events, send } = await createHandlerFixture();
  await send("GET", "/", {}, { target });
  expect(events[0]?.path).toBe(path);
});

test("a path above 512 characters is cut, so that callers cannot fill the log", async () => {
  const { events, send } = await createHandlerFixture();
  const longest = `/${"a".repeat(511)}`;
  for (const path of [longest, `${longest}b`, `${longest}${"b".repeat(8_000)}`]) await send("GET", path);
  expect(events.map(({ path }) => path)).toEqual([longest, `${longest}…`, `${longest}…`]);
});

test("the path of a request without a target is that of its URL", async () => {
  const { events, send } = await createHandlerFixture();
  await send("GET", "/v1/store/orders?a=1/2#3");
  await send("GET", "/v1/store/orders#abc?d=1");
  for (const event of events) expect(event).toMatchObject({ path: "/v1/store/orders", status: 200 });
});

test("the event has no field for what is not known", async () => {
  const { events, send } = await createHandlerFixture();
  await send("GET", "/healthz", { authorization: "" }, { requestId: "request-1" });
  expect(events).toStrictEqual([
    {
      ...{ requestId: "request-1", method: "GET", path: "/healthz", status: 200 },
      ...{ durationMs: expect.any(Number), bodyEnd: "complete" },
    },
  ]);
});

test("the duration is the time since the request arrived, in milliseconds", async () => {
  const { events, send } = await createHandlerFixture();
  const startedAt = performance.now();
  await send("GET", "/v1/store/orders");
  expect(events[0]?.durationMs).toBeGreaterThan(0);
  expect(events[0]?.durationMs).toBeLessThanOrEqual(performance.now() - startedAt);
});

describe("a line of the access log", () => {
  const event: RequestEvent = {
    ...{ requestId: "request-1", method: "GET", path: "/v1/store/orders", operation: "listOrders" },
    ...{ status: 200, durationMs: 12.3456, bodyEnd: "complete" },
    ...{ accountId: "shop", keyId: "key-1", plan: "free" },
  };
  const at = new Date(NOON);
  const told = { at: "2026-11-20T12:00:00.000Z", ...event, durationMs: 12.3 };

  test("has the time and the fields of the event, and the address only if it is given", () => {
    const line = toLogLine(accessFields(event, at));
    expect(line).not.toContain("\n");
    expect(JSON.parse(line)).toEqual(told);
    const address = "192.0.2.7";
    expect(JSON.parse(toLogLine({ ...accessFields(event, at), address }))).toEqual({ ...told, address });
  });

  test.each([
    [new TypeError("no"), "TypeError: no"],
    [new StoreUnavailableError("gone"), "StoreUnavailableError: gone"],
    [new Error("no", { cause: new Error("disk") }), "Error: no (disk)"],
    [new Error("so_test_shop_0123456789"), "Error: so_test_shop_…"],
    ["text", "unknown"],
    [null, "unknown"],
  ])("has the name and the message of an error, without its stack and keys (%#)", (error, text) => {
    expect(JSON.parse(toLogLine(accessFields({ ...event, error }, at)))).toEqual({ ...told, error: text });
  });
});

test("a line of the log has no character that ends it or reverses its text, and keeps all others", () => {
  const path = "/ü 😀 1\n\u0085\u2028\u202e\u200b\u{e0041}";
  const line = toLogLine({ path });
  expect(line).toBe('{"path":"/ü 😀 1\\n\\u0085\\u2028\\u202e\\u200b\\udb40\\udc41"}');
  expect(JSON.parse(line)).toEqual({ path });
});

test("a request that could not be parsed has no path, unless its target is known", async () => {
  const { events, send } = await createHandlerFixture();
  await send("GET", "/", {}, { requestError: "bad_request" });
  await send("GET", "/", {}, { requestError: "uri_too_long", target: "/a?b" });
  expect(events[0]).not.toHaveProperty("path");
  expect(events[1]).toMatchObject({ path: "/a", errorCode: "uri_too_long" });
});

test("traceparent is copied if it is valid, and nothing else is", async () => {
  const { events, send } = await createHandlerFixture();
  const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  await send("GET", "/v1/store/orders", { traceparent });
  // A later version is continued by OpenTelemetry, whatever follows.
  const later = traceparent.replace("00-", "cc-");
  for (const valid of [later, `${later}-more`]) await send("GET", "/v1/store/orders", { traceparent: valid });
  expect(events.splice(1)).toMatchObject([{ traceparent: later }, { traceparent: later }]);
  const invalid = [
    ...[`${traceparent}-more`, `more-${traceparent}`, traceparent.toUpperCase(), `${later}more`, ""],
    ...[traceparent.replace("00-", "ff-"), traceparent.replace(/-\w{32}-/, `-${"0".repeat(32)}-`)],
    traceparent.replace(/-\w{16}-/, `-${"0".repeat(16)}-`),
  ];
  for (const each of invalid) await send("GET", "/v1/store/orders", { traceparent: each });
  await send("GET", "/v1/store/orders");
  expect(events[0]).toHaveProperty("traceparent", traceparent);
  expect(events).toHaveLength(invalid.length + 2);
  for (const event of events.slice(1)) expect(event).not.toHaveProperty("traceparent");
});

test("the address is not in the event, but in the second argument of onRequest", async () => {
  const sources: ClientInfo[] = [];
  const { send } = await createHandlerFixture({ onRequest: (_event, source) => sources.push(source) });
  await send("GET", "/v1/store/orders", {}, { address: "192.0.2.7" });
  expect(sources).toEqual([{ address: "192.0.2.7" }]);
});

test("a document whose end rejects is reported as failed", async () => {
  const ended = Promise.reject(new Error("lost"));
  // The request comes later.
  ended.catch(() => {});
  const documents = async () => ({ status: 200, body: "half", ended }) as const;
  const { events, send } = await createHandlerFixture({ documents });
  expect((await send("GET", "/page")).status).toBe(200);
  await new Promise(setImmediate);
  expect(events).toMatchObject([{ status: 200, bodyEnd: "failed", error: { message: "lost" } }]);
});

test("a well-formed key that is not valid names the account that it claims, and nothing else does", async () => {
  const { events, send } = await createHandlerFixture();
  const key = generateKey("test", "acme");
  for (const authorization of [`Bearer ${key}`, `Bearer ${key}x`, "Bearer ", `Basic ${key.slice(0, -1)}`, ""])
    await send("GET", "/v1/store/orders", { authorization });
  const [first, ...others] = events.map(({ claimedAccountId }) => claimedAccountId);
  expect([first, others]).toEqual(["acme", Array(4).fill(undefined)]);
  expect(events[0]).not.toHaveProperty("accountId");
  expect(JSON.stringify(events)).not.toContain(key.slice(-20));
});

test("a well-formed key in a further header names the account that it claims, too", async () => {
  const keys = { headers: ["x-api-key", "authorization"] };
  const { events, handler } = await createHandlerFixture({ keys });
  const key = generateKey("test", "acme");
  for (const headers of [{ "x-api-key": key }, { authorization: key }, { "x-other": key }])
    await handler(new Request("http://localhost/v1/store/orders", { headers }));
  expect(events.map(({ claimedAccountId }) => claimedAccountId)).toEqual(["acme", "acme", undefined]);
});
