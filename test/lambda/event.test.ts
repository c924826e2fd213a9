import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { toRequest } from "../../lib/http/call-handler.ts";
import { fromEvent, PLATFORM_HOST, type ProxyEvent } from "../../lib/lambda/event.ts";

const event: ProxyEvent = {
  httpMethod: "GET",
  path: "/v1/store/orders",
  multiValueHeaders: { Accept: ["application/json"], Host: ["orders.example.com"] },
  multiValueQueryStringParameters: null,
  body: null,
  isBase64Encoded: false,
  requestContext: {
    apiId: "a1b2c3",
    domainName: "orders.example.com",
    requestId: "request-1",
    identity: { sourceIp: "192.0.2.1" },
  },
};
const requestOf = (changes: Partial<ProxyEvent>) => fromEvent({ ...event, ...changes }).request;

test("method, host, path, address and request identifier are read from the event", () => {
  const { request, context } = fromEvent(event);
  expect([request.method, request.url]).toEqual(["GET", "https://orders.example.com/v1/store/orders"]);
  expect(context).toEqual({
    address: "192.0.2.1",
    host: "orders.example.com",
    requestId: "request-1",
    target: "/v1/store/orders",
  });
});

test("the host is the one that the gateway reports, whatever the Host header contains", () => {
  const { context } = fromEvent({ ...event, multiValueHeaders: { Host: ["evil.example"] } });
  expect(context.host).toBe("orders.example.com");
});

test("the platform's own host has one name for every API identifier", () => {
  const domainName = "a1b2c3.execute-api.eu-central-1.amazonaws.com";
  const platform = { ...event, requestContext: { ...event.requestContext, domainName } };
  expect(fromEvent(platform).context.host).toBe(PLATFORM_HOST);
  const other = { ...event.requestContext, domainName: "zzz.execute-api.eu-central-1.amazonaws.com" };
  expect(fromEvent({ ...event, requestContext: other }).context.host).toBe(other.domainName);
});

test("repeated headers stay repeated, so two keys do not become one", () => {
  const { headers } = requestOf({
    multiValueHeaders: { authorization: ["Bearer a", "Bearer b"], "X-A": ["1"] },
  });
  expect(headers.get("authorization")).toBe("Bearer a, Bearer b");
  expect(headers.get("x-a")).toBe("1");
});

test("the query, which the gateway decodes, is encoded again", () => {
  const { url } = requestOf({ multiValueQueryStringParameters: { "a b": ["1&2", "ü"], c: [""] } });
  expect(url).toBe("https://orders.example.com/v1/store/orders?a%20b=1%262&a%20b=%C3%BC&c=");
});

test("percent-encoding in the path is kept", () => {
  expect(requestOf({ path: "/v1/store/orders/%2F%20" }).url).toMatch(/\/v1\/store\/orders\/%2F%20$/);
});

test.each([
  ["as text", { body: '{"ä":1}', isBase64Encoded: false }],
  ["in base64", { body: Buffer.from('{"ä":1}').toString("base64"), isBase64Encoded: true }],
])("a body sent %s is decoded to the same body", async (_how, body) => {
  const head = requestOf({ httpMethod: "POST", ...body });
  expect(await text(head.body ?? ReadableStream.from([]))).toBe('{"ä":1}');
  expect(await toRequest(head).text()).toBe('{"ä":1}');
});

test("a handler that needs a Request gets the same method, address and headers", () => {
  const head = requestOf({
    ...{ httpMethod: "DELETE", path: "/v1/store/orders/1" },
    multiValueHeaders: { "X-A": [" 1\t", "ÿ"], "x-a": ["3"], Empty: [""] },
  });
  const { method, url, headers } = toRequest(head);
  expect([method, url, headers.get("x-a"), headers.get("empty")]).toEqual([
    ...["DELETE", "https://orders.example.com/v1/store/orders/1", "1, ÿ, 3", ""],
  ]);
});

test("the headers can be written as JSON, as those of a Request", () => {
  expect(() => JSON.stringify(requestOf({ httpMethod: "GET" }).headers)).not.toThrow();
});

test("a body is dropped if the method cannot have one", () => {
  expect(requestOf({ httpMethod: "GET", body: "x" }).body).toBeNull();
});

test.each([
  ["a method that a Request cannot have", { httpMethod: "TRACE" }, "not_implemented"],
  ["a method in lower case", { httpMethod: "get" }, "not_implemented"],
  ["an unknown method", { httpMethod: "PROPFIND" }, "not_implemented"],
  ["an invalid header name", { multiValueHeaders: { "a b": ["1"] } }, "bad_request"],
  ["an empty header name", { multiValueHeaders: { "": ["1"] } }, "bad_request"],
  ...["1\r\nb: 2", "1\n", "\0", "\u0100"].map(
    (value) =>
      ["an invalid header value", { multiValueHeaders: { a: ["1", value] } }, "bad_request"] as const,
  ),
  ["a path with a query", { path: "/v1/store/orders?x" }, "bad_request"],
  ["a path without a slash", { path: "v1/store/orders" }, "bad_request"],
  ["a target above 8 KiB", { path: `/${"a".repeat(9_000)}` }, "uri_too_long"],
] as const)("%s is marked as invalid, and the caller's address is kept", (_what, changes, requestError) => {
  expect(fromEvent({ ...event, ...changes }).context).toMatchObject({ requestError, address: "192.0.2.1" });
});

test("an event with only the required fields is a request", () => {
  const { request, context } = fromEvent({ httpMethod: "GET", path: "/", requestContext: {} });
  expect(request.url).toBe("https://localhost/");
  expect(context).toEqual({ target: "/" });
});

test("a lone surrogate in the query is marked as malformed", () => {
  const { context } = fromEvent({ ...event, multiValueQueryStringParameters: { a: ["\ud800"] } });
  expect(context).toMatchObject({ requestError: "bad_request", address: "192.0.2.1" });
});

test.each([
  null,
  undefined,
  "text",
  [],
  {},
  { Records: [{ body: "so_test_secret" }], version: "2.0" },
  { httpMethod: "GET", path: "/v1/store/orders" },
  { httpMethod: "GET", path: "/", requestContext: null },
  { httpMethod: 1, path: "/", requestContext: {} },
])("%j is no event of a REST API, and is described without its values", (invalid) => {
  const { context, problem } = fromEvent(invalid as unknown as ProxyEvent);
  expect(context).toEqual({ requestError: "bad_request" });
  expect(problem).toBe("The event is not one of a REST API with proxy integration.");
});

test.each([
  { multiValueHeaders: { a: 5 } },
  { multiValueQueryStringParameters: { a: 5 } },
  { requestContext: { domainName: 5 } },
  { httpMethod: "POST", body: 5 },
])("an event with a field of another type, %j, is an invalid request", (changes) => {
  const { context } = fromEvent({ ...event, ...changes } as unknown as ProxyEvent);
  expect(context).toMatchObject({ requestError: "bad_request" });
});
