import { setImmediate as turn } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import * as z from "zod";
import { defineOperation, type Schema } from "../../lib/http/define-operation.ts";
import { OPERATIONS } from "../../lib/http/operations.ts";
import { toInt64Json } from "../../lib/orders/int64.ts";
import { codeOf, createHandlerFixture, factsOf, MAX } from "./fixture.ts";

const about = { tag: "notes", summary: "A note", description: "For tests." };
const success = { status: 200, description: "What was read." } as const;
const JSON_BODY = { "content-type": "application/json" };

const echo = defineOperation({
  ...{ ...about, success, id: "echo", method: "POST", path: "/echo", errors: [] },
  query: z.strictObject({
    limit: z.coerce.number().int().max(10).optional().describe("How many."),
    tag: z.union([z.string(), z.array(z.string())]).optional(),
  }),
  body: z.object({
    id: z.unknown().refine((id) => typeof id === "bigint" || Number.isInteger(id), "Write an integer"),
    price: z.number().optional(),
    names: z.array(z.string()).optional(),
  }),
  maxBodyBytes: 2_000,
  handle: async ({ query, body }) => ({ status: 200, body: toInt64Json({ query, body }) }),
});

const fixture = (operation = echo) => createHandlerFixture({ operations: [...OPERATIONS, operation] });
const serve = async (operation = echo) => {
  const { send, ...rest } = await fixture(operation);
  const post = (body: RequestInit["body"], query = "", headers: Record<string, string> = JSON_BODY) =>
    send("POST", `/v1/echo${query}`, headers, undefined, body);
  return { ...rest, send, post };
};

test("the query and the body are validated and passed on, with every digit of an int64", async () => {
  const { post } = await serve();
  const answer = await post(`{"id":${MAX},"price":10.0}`, "?limit=3&tag=a&tag=b%26");
  const text = `{"query":{"limit":3,"tag":["a","b&"]},"body":{"id":${MAX},"price":10}}`;
  expect(answer).toMatchObject({ status: 200, text });
});

test("an integer of a body is exact up to 19 digits, and every other number is a double", async () => {
  const { post } = await serve();
  for (const [sent, id] of [
    ["9007199254740991", "9007199254740991"],
    ["9007199254740993", "9007199254740993"],
    ["-9007199254740993", "-9007199254740993"],
    ["9223372036854775807", "9223372036854775807"],
    ["12345678901234567890", "12345678901234567000"],
    ["9007199254740993e1", "90071992547409940"],
  ])
    expect((await post(`{"id":${sent}}`)).text).toBe(`{"query":{},"body":{"id":${id}}}`);
  for (const price of ["0.1234567890123456", "1234567890123456", "9007199254740993.5", "1e300"])
    expect(JSON.parse((await post(`{"id":1,"price":${price}}`)).text).body.price, price).toBe(Number(price));
});

test("a string of a body can be the name of the prototype, or contain its key", async () => {
  const { post } = await serve();
  const text = '{"id":1,"names":["__proto__",",\\"__proto__\\":"]}';
  expect(await post(text)).toMatchObject({ status: 200, text: `{"query":{},"body":${text}}` });
});

test("a body that is nested too deeply for recursive code is 400", async () => {
  const any = defineOperation({
    ...{ ...about, success, id: "any", method: "POST", path: "/echo", errors: [] },
    body: z.unknown(),
    handle: async () => ({ status: 200, body: "{}" }),
  });
  const { post } = await serve(any as never);
  expect((await post("[".repeat(2_000) + "]".repeat(2_000))).status).toBe(200);
  expect((await post("[".repeat(2_001) + "]".repeat(2_001))).status).toBe(400);
});

test("a body is received whole, however it is divided into parts", async () => {
  const { post } = await serve();
  const text = JSON.stringify({ id: 1, names: ["ä", "b".repeat(100)] });
  const bytes = new TextEncoder().encode(text);
  for (const size of [1, 7, bytes.length - 1, bytes.length]) {
    const parts: Uint8Array[] = [];
    for (let start = 0; start < bytes.length; start += size) parts.push(bytes.slice(start, start + size));
    const answer = await post(ReadableStream.from([...parts, new Uint8Array()]));
    expect(answer).toMatchObject({ status: 200, text: `{"query":{},"body":${text}}` });
  }
});

test("an operation that takes no body ignores one, whatever it is", async () => {
  const ping = defineOperation({
    ...{ ...about, success, id: "ping", method: "POST", path: "/ping", errors: [] },
    handle: async ({ body }) => ({ status: 200, body: JSON.stringify({ body }) }),
  });
  const { send, handler, key } = await fixture(ping as never);
  for (const [body, headers] of [
    ["{", JSON_BODY],
    ["text", { "content-type": "text/plain" }],
    ["", {}],
  ] as const)
    expect((await send("POST", "/v1/ping", headers, undefined, body)).text).toBe("{}");
  const request = new Request("http://localhost/v1/ping", {
    ...{ method: "POST", body: "read by a middleware" },
    headers: { authorization: `Bearer ${key}` },
  });
  await request.text();
  expect((await handler(request)).status).toBe(200);
});

test.each([
  ["a field of another type", '{"id":"1"}', "", ["body.id"]],
  ["no body", null, "", ["body"]],
  ["several fields", '{"id":true,"names":["a",1]}', "", ["body.id", "body.names[1]"]],
  ["an unknown parameter", '{"id":1}', "?a=1", ["query"]],
  ["a parameter that occurs twice", '{"id":1}', "?limit=1&limit=2", ["query.limit"]],
  ["a parameter above its maximum", '{"id":1}', "?limit=1e3", ["query.limit"]],
  ["an invalid percent encoding", '{"id":1}', "?tag=%zz", ["query"]],
  ["an encoding that is not UTF-8", '{"id":1}', "?tag=%C3&tag=%28", ["query"]],
  ["a parameter that changes a prototype", '{"id":1}', "?__proto__=a&__proto__=b", ["query.__proto__"]],
  ["text that is not JSON", "{id:1}", "", ["body"]],
  ["bytes that are not UTF-8", Buffer.from('{"id":1,"names":["\xc3("]}', "latin1"), "", ["body"]],
  ["a key that changes a prototype", '{"id":1,"a":{"__prot\\u006f__":{"admin":true}}}', "", ["body"]],
  ["the same, in full", '{"id":1,"a":[{"__proto__" :1}]}', "", ["body"]],
  ["an array instead of an object", "[".repeat(900) + "]".repeat(900), "", ["body"]],
  ["a number as a key", "{1234567890123456789:1}", "", ["body"]],
])("%s is 400 with the path of each issue", async (_what, body, query, paths) => {
  const { post, events } = await serve();
  const { status, headers, text } = await post(body, query);
  const { code, message, issues, ...rest } = JSON.parse(text);
  expect([status, code, rest]).toEqual([400, "invalid_input", { status: 400 }]);
  expect(message).toMatch(/\.$/);
  expect(issues.map(({ path }: { path: string }) => path)).toEqual(paths);
  for (const issue of issues) expect(issue.message).toMatch(/^[A-Z].*\.$/s);
  expect(headers.get("content-type")).toBe("application/json");
  expect(headers.get("x-ratelimit-remaining")).toBe("59");
  expect(events.at(-1)).toMatchObject({ operation: "echo", status: 400, errorCode: "invalid_input" });
});

test("issues are limited in number and in length", async () => {
  const names = Array.from({ length: 100 }, (_, index) => index);
  const { post } = await serve();
  expect(JSON.parse((await post(JSON.stringify({ id: 1, names }))).text).issues).toHaveLength(20);
  const { issues } = JSON.parse((await post('{"id":1}', `?${"a".repeat(5_000)}=1`)).text);
  expect(issues).toHaveLength(1);
  expect(issues[0].message.length).toBeLessThanOrEqual(200);
});

test.each([
  ["application/json; charset=UTF-8", 200],
  ['Application/JSON;charset="utf-8"', 200],
  ["text/plain", 415],
  ["application/json, text/plain", 415],
  ["application/json; charset=utf-16", 415],
  ["application/jsonp", 415],
])("the content type %s is %i", async (type, status) => {
  const { post } = await serve();
  expect((await post('{"id":1}', "", { "content-type": type })).status).toBe(status);
});

test("a compressed body, and one without a content type, is 415", async () => {
  const { post } = await serve();
  expect((await post('{"id":1}', "", { ...JSON_BODY, "content-encoding": "gzip" })).status).toBe(415);
  expect(codeOf(await post(new Uint8Array([0x31]), "", {}))).toBe("unsupported_media_type");
});

/** A body that counts how often it is read, and never ends. */
function endless(part: string) {
  const body = { reads: 0, cancelled: false };
  const stream = new ReadableStream(
    {
      pull(controller) {
        body.reads++;
        controller.enqueue(new TextEncoder().encode(part));
      },
      cancel() {
        body.cancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return Object.assign(body, { stream });
}

test("a body above the limit is 413, and is not read further", async () => {
  const { post } = await serve();
  const body = endless(" ".repeat(500));
  expect(codeOf(await post(body.stream))).toBe("request_too_large");
  expect([body.reads, body.cancelled]).toEqual([5, true]);
  const exact = `{"id":1}${" ".repeat(1_992)}`;
  expect((await post(exact)).status).toBe(200);
  expect((await post(`${exact} `)).status).toBe(413);
  expect((await post(exact, "", { ...JSON_BODY, "content-length": "2000" })).status).toBe(200);
  const announced = endless(" ");
  expect((await post(announced.stream, "", { ...JSON_BODY, "content-length": "2001" })).status).toBe(413);
  expect(announced.reads).toBe(0);
});

test("only an admitted caller's body is read, and only if the query is valid", async () => {
  const { send } = await serve();
  const body = endless(" ");
  const unauthorized = { ...JSON_BODY, authorization: "" };
  expect((await send("POST", "/v1/echo", unauthorized, undefined, body.stream)).status).toBe(401);
  const invalid = await send("POST", "/v1/echo?limit=x", JSON_BODY, undefined, endless(" ").stream);
  expect(invalid.status).toBe(400);
  expect(body.reads).toBe(0);
});

test("a body that fails is 400, and one that a middleware has read is 500 with the reason in the event", async () => {
  const { post, handler, key, events } = await serve();
  const failing = new ReadableStream({ pull: (controller) => controller.error(new Error("reset")) });
  expect(codeOf(await post(failing))).toBe("bad_request");
  for (const [code, expected] of [
    ["request_timeout", "request_timeout"],
    ["ECONNRESET", "bad_request"],
    ["toString", "bad_request"],
  ] as const) {
    const error = Object.assign(new Error("reset"), { code });
    const stream = new ReadableStream({ pull: (controller) => controller.error(error) });
    expect(codeOf(await post(stream)), code).toBe(expected);
  }
  const headers = { ...JSON_BODY, authorization: `Bearer ${key}` };
  const request = new Request("http://localhost/v1/echo", { method: "POST", headers, body: '{"id":1}' });
  await request.text();
  expect((await handler(request)).status).toBe(500);
  expect(String(events.at(-1)?.error)).toMatch(/middleware has read the body/);
});

test("a query above 8 KiB is 414", async () => {
  const { post } = await serve();
  const longest = `?tag=${"a".repeat(8 * 1024 - "?tag=".length)}`;
  expect((await post('{"id":1}', longest)).status).toBe(200);
  expect(codeOf(await post('{"id":1}', `${longest}a`))).toBe("uri_too_long");
  expect(codeOf(await post('{"id":1}', `?tag=${"a".repeat(10_000_000)}`))).toBe("uri_too_long");
});

test("a body that the schema does not require can be missing", async () => {
  const optional = defineOperation({
    ...{ ...about, success, id: "optional", method: "PUT", path: "/echo", errors: [] },
    body: z.object({}).optional(),
    handle: async ({ body }) => ({ status: 200, body: `${body}` }),
  });
  const { send } = await fixture(optional);
  expect(await send("PUT", "/v1/echo")).toMatchObject({ status: 200, text: "undefined" });
});

/** A schema of an unknown library, which is asynchronous and does not describe itself. */
const even: Schema<number> = {
  "~standard": {
    validate: async (value) =>
      typeof value === "number" && value % 2 === 0
        ? { value: value / 2 }
        : { issues: [{ message: "Odd", path: [{ key: "a" }, 0, Symbol("b")] }, { message: "Use 8!" }] },
  },
};

test("a schema of any library works; its JSON Schema can be given", async () => {
  const half = defineOperation({
    ...{ ...about, success, id: "half", method: "PATCH", path: "/half", errors: [] },
    body: even,
    jsonSchemas: { body: { type: "integer", multipleOf: 2 } },
    handle: async ({ body }) => ({ status: 200, body: `${body}` }),
  });
  const { send } = await fixture(half);
  const patch = (body: string) => send("PATCH", "/v1/half", JSON_BODY, undefined, body);
  expect(await patch("8")).toMatchObject({ status: 200, text: "4" });
  expect(JSON.parse((await patch("7")).text).issues).toEqual([
    { path: "body.a[0].Symbol(b)", message: "Odd." },
    { path: "body", message: "Use 8!" },
  ]);
  const { paths } = JSON.parse((await send("GET", "/openapi.json")).text);
  const { schema } = paths["/half"].patch.requestBody.content["application/json"];
  expect(schema).toEqual({ type: "integer", multipleOf: 2 });
});

test("an operation returns errors of its own, in its own version, beside one with the same path", async () => {
  const hold = defineOperation({
    ...{ ...about, success, id: "hold", method: "GET", path: "/store/orders", version: "v3" },
    errors: ["order_not_found"],
    ownErrors: { warehouse_closed: { status: 423, message: "The warehouse is closed." } },
    query: z.object({ open: z.stringbool().default(false) }),
    async handle({ query, orders }) {
      if (!query.open) return { error: "warehouse_closed", headers: { "retry-after": "60" } };
      const order = await orders.find(1n);
      return order ? { status: 200, body: `"${order.status}"` } : { error: "order_not_found" };
    },
  });
  const { send, events } = await fixture(hold);
  const closed = await send("GET", "/v3/store/orders");
  expect(factsOf(closed, "retry-after")).toEqual([423, "warehouse_closed", "60"]);
  expect(events.at(-1)).toMatchObject({ operation: "hold", errorCode: "warehouse_closed" });
  expect(await send("GET", "/v3/store/orders?open=yes")).toMatchObject({ status: 200, text: '"pending"' });
  expect((await send("GET", "/v1/store/orders")).text).toMatch(/^\[/);
  expect(codeOf(await send("GET", "/v2/store/orders"))).toBe("route_not_found");
  const document = JSON.parse((await send("GET", "/openapi.json")).text);
  expect(document.paths["/v3/store/orders"].servers[0].url).toBe(".");
});

const described = (message: string) => {
  const fail = () => {
    throw new Error(message);
  };
  return { "~standard": { version: 1, vendor: "test", validate: fail, jsonSchema: { input: fail } } };
};

test("a definition with a mistake is rejected with how to fix it", () => {
  const define = (definition: object) => () =>
    defineOperation({
      ...{ ...about, success, id: "a", method: "POST", path: "/a", errors: [], handle: async () => success },
      ...definition,
    } as never);
  const recursive = z.object({
    get child() {
      return recursive.optional();
    },
  });
  const error = { status: 404, message: "a" };
  const mistakes: readonly (readonly unknown[])[] = [
    [{ method: "DELETE", body: even }, "a.body", /Only POST, PUT and PATCH/],
    [{ body: even }, "a.jsonSchemas.body", /does not describe itself\. Give one here\.$/],
    [{ query: described("Use another.") }, "a.jsonSchemas.query", /tion\. Use another\. Give one here\.$/],
    [{ query: z.object({ a: z.date() }) }, "a.jsonSchemas.query", /Date cannot be .*Give one here\.$/],
    [{ body: recursive }, "a.jsonSchemas.body", /refers to itself/],
    ...["v1", "beta"].map((version) => [{ version }, "a.version", /such as v2/]),
    [{ ownErrors: { order_not_found: error } }, "a.ownErrors.order_not_found", /Name it in 'errors'/],
  ];
  for (const [definition, path, message] of mistakes)
    expect(define(definition as object)).toThrow(
      expect.objectContaining({ issues: [{ path, message: expect.stringMatching(message as RegExp) }] }),
    );
  expect(define({ version: "v999", ownErrors: { no_stock: error } })).not.toThrow();
});

test.each([
  ["POST", "/v1/echo", '{"id":1}', 200],
  ["DELETE", `/v1/store/orders/${MAX}`, "unread", 204],
])(
  "the body of a %s that does not come within 30 seconds is 408, without effect or timer",
  async (...row) => {
    const [method, path, whole, status] = row;
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const { send } = await serve();
    const call = (body: RequestInit["body"]) => send(method, path, JSON_BODY, undefined, body);
    const answer = call(new ReadableStream({ pull: () => new Promise(() => {}) }));
    while (vi.getTimerCount() === 0) await turn();
    await vi.advanceTimersByTimeAsync(29_999);
    expect(await Promise.race([answer, "waiting"])).toBe("waiting");
    await vi.advanceTimersByTimeAsync(1);
    expect(codeOf(await answer)).toBe("request_timeout");
    expect((await call(whole)).status).toBe(status);
    expect(vi.getTimerCount()).toBe(0);
  },
);
