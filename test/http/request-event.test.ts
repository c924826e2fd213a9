import { expect, test } from "vitest";
import { generateKey } from "../../lib/accounts/api-key.ts";
import { type ClientInfo, toLogLine } from "../../lib/http/request-event.ts";
import { createHandlerFixture } from "./fixture.ts";

test.each([
  ["/v1/store/orders?cursor=secret", "/v1/store/orders"],
  ["/v1/store/orders#secret", "/v1/store/orders"],
  ["/v1/%6Frders/%31%2F", "/v1/orders/1%2F"],
  ["/v1/so_test_shop_0000000000", "/v1/so_test_shop_…"],
  ["/v1/so%5Flive%5Fshop%5F0000000000", "/v1/so_live_shop_…"],
  ["//a/../b", "//a/../b"],
  ["/so%255Ftest%255Fdemo%255F0123", "/so%255Ftest%255Fdemo%255F…"],
  ["/so%25255ftest_demo%25255f0123", "/so%25255ftest_demo%25255f…"],
])("the path of %s is reported as %s", async (target, path) => {
  const { events, send } = await createHandlerFixture();
  await send("GET", "/", {}, { target });
  expect(events[0]?.path).toBe(path);
});

test("a long path is cut, so that callers cannot fill the log", async () => {
  const { events, send } = await createHandlerFixture();
  await send("GET", `/${"a".repeat(8_000)}`);
  expect(events[0]?.path).toHaveLength(513);
});

test("a line of the log has no character that ends it or reverses its text, and keeps all others", () => {
  expect(toLogLine({ path: "/ü 1\n\u0085\u2028\u202e\u200b" })).toBe(
    '{"path":"/ü 1\\n\\u0085\\u2028\\u202e\\u200b"}',
  );
});

test("a request that could not be parsed has no path", async () => {
  const { events, send } = await createHandlerFixture();
  await send("GET", "/", {}, { requestError: "bad_request" });
  expect(events[0]).not.toHaveProperty("path");
});

test("traceparent is copied if it is valid, and nothing else is", async () => {
  const { events, send } = await createHandlerFixture();
  const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  await send("GET", "/v1/store/orders", { traceparent });
  await send("GET", "/v1/store/orders", { traceparent: `${traceparent}-more` });
  expect(events[0]).toHaveProperty("traceparent", traceparent);
  expect(events[1]).not.toHaveProperty("traceparent");
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
  const { events, send } = await createHandlerFixture({
    documents: async () => ({ status: 200, body: "half", ended }),
  });
  expect((await send("GET", "/page")).status).toBe(200);
  await new Promise(setImmediate);
  expect(events).toMatchObject([{ status: 200, bodyEnd: "failed", error: { message: "lost" } }]);
});

test("a well-formed key that is not valid names the account that it claims, and nothing else does", async () => {
  const { events, send } = await createHandlerFixture();
  const key = generateKey("test", "acme");
  for (const authorization of [`Bearer ${key}`, `Bearer ${key}x`, "Bearer ", `Basic ${key.slice(0, -1)}`, ""])
    await send("GET", "/v1/store/orders", { authorization });
  expect(events.map(({ claimedAccountId }) => claimedAccountId)).toEqual([
    "acme",
    ...Array(4).fill(undefined),
  ]);
  expect(events[0]).not.toHaveProperty("accountId");
  expect(JSON.stringify(events)).not.toContain(key.slice(-20));
});
