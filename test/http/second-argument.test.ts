import { describe, expect, test } from "vitest";
import type { RequestContext } from "../../lib/http/request.ts";
import { codeOf, createHandlerFixture } from "./fixture.ts";

const fail = () => {
  throw new TypeError("no");
};

const URL_OF_LIST = "http://localhost/v1/store/orders";

/** What other runtimes and frameworks pass as the second argument. */
const FOREIGN: readonly (readonly [string, unknown])[] = [
  ["nothing", undefined],
  ["null", null],
  ["a string", "192.0.2.1"],
  ["a function", () => {}],
  ["the server of Bun", { address: { address: "127.0.0.1", port: 3000 }, hostname: "localhost", port: 3000 }],
  ["the info of Deno", { remoteAddr: { hostname: "192.0.2.1" }, completed: Promise.resolve() }],
  ["the bindings of Workers", { DB: {}, address: 7, host: ["a"], target: {} }],
  ["the parameters of Next.js", { params: Promise.resolve({ path: ["store"] }) }],
  ["fields of other types", { address: 1, target: 2, host: 3, requestId: 4, requestError: 5 }],
  ["an unknown error code", { requestError: "toString" }],
  ["a request identifier that no header can have", { requestId: "a\r\nset-cookie: b" }],
  ["an object whose fields throw", new Proxy({}, { get: fail })],
];

describe("a second argument that is not our context", () => {
  test.each(FOREIGN)("such as %s, is ignored", async (name, given) => {
    const { handler, key } = await createHandlerFixture();
    const context = given as RequestContext;
    const send = async (headers: Record<string, string>) => {
      const response = await handler(new Request(URL_OF_LIST, { headers }), context);
      return { status: response.status, headers: response.headers, text: await response.text() };
    };
    const without = await send({});
    const isBroken = name === "an object whose fields throw";
    expect(codeOf(without)).toBe(isBroken ? "internal_error" : "missing_api_key");
    expect((await send({ authorization: `Bearer ${key}` })).status).toBe(isBroken ? 500 : 200);
  });

  test("does not hide the fields of the right type beside others", async () => {
    const { handler, events } = await createHandlerFixture();
    const context = { address: { port: 1 }, requestId: "r-1", params: {} } as unknown as RequestContext;
    expect((await handler(new Request(URL_OF_LIST), context)).headers.get("x-request-id")).toBe("r-1");
    expect(events.at(-1)).toMatchObject({ requestId: "r-1", status: 401 });
  });
});

test.each([
  ["nothing", undefined],
  ["null", null],
  ["a string", URL_OF_LIST],
  ["an empty object", {}],
  ["a request without headers", { method: "GET", url: URL_OF_LIST }],
  ["a request whose headers throw", { method: "GET", url: URL_OF_LIST, headers: { get: fail } }],
  ["a request whose URL is not a string", { method: "GET", url: 7, headers: new Headers() }],
])("the handler never rejects, also when its request is %s", async (_name, request) => {
  const problems: unknown[] = [];
  const { handler } = await createHandlerFixture({
    corsOrigins: ["https://a.example"],
    onHookError: (error) => problems.push(error),
  });
  for (const respond of [handler, handler.respond]) {
    const { status } = (await respond?.(request as Request)) ?? {};
    expect(status).toBeGreaterThanOrEqual(400);
  }
});
