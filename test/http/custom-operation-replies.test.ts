import { expect, test } from "vitest";
import { defineOperation } from "../../lib/http/define-operation.ts";
import type { SuccessReply } from "../../lib/http/reply.ts";
import { statusDefinition } from "./custom-operations-fixture.ts";
import { createHandlerFixture, readerOf } from "./fixture.ts";

function withHeader(name: string, value: string, problem: string) {
  const reply = { status: 200, body: "{}", headers: { [name]: value } } as const;
  return [JSON.stringify(reply.headers), reply, new RegExp(`"${name}", ${problem}`)] as const;
}

/** The types forbid these, but callers can be untyped. */
function untyped(problem: string, ...replies: readonly object[]) {
  return replies.map((reply) => [JSON.stringify(reply), reply as SuccessReply, new RegExp(problem)] as const);
}
const ofService =
  "content-length Transfer-Encoding connection Keep-Alive trailer upgrade Date X-RateLimit-Remaining x-ratelimit-limit X-Request-Id Deprecation sunset";
const ok = (body: unknown) => ({ status: 200, body });

test.each<readonly [what: string, reply: SuccessReply, reason: RegExp]>([
  withHeader("location", "/a\nb: c", "which cannot be sent"),
  withHeader("x-title", "a – b", "which cannot be sent"),
  withHeader("x title", "a", "which cannot be sent"),
  ...ofService.split(" ").map((name) => withHeader(name, "2", "which the service sets")),
  ...untyped("neither a status nor an error of the service", {}, { error: "constructor" }, { error: "none" }),
  ...untyped("a status that no response can have", { status: 101 }, { status: 600 }, { status: "200" }),
  ...untyped("a body that cannot be sent", ok(1), ok({ id: 1 }), ok([]), ok(new ArrayBuffer(1))),
  ...untyped("a body with the status", { status: 204, body: "" }, { status: 304, body: "" }),
])("an operation that returns %s is a 500, and the event says why", async (_what, reply, reason) => {
  const operation = defineOperation({ ...statusDefinition, handle: async () => reply });
  const { events, send } = await createHandlerFixture({ operations: [operation] });
  const { status, headers, text } = await send("GET", "/v1/store/orders/1/status");
  expect([status, JSON.parse(text).code]).toEqual([500, "internal_error"]);
  expect(headers.get("x-ratelimit-remaining")).toBe("59");
  expect(String(events.at(-1)?.error)).toMatch(reason);
});

test("the links of a deprecated operation's reply do not replace those of its deprecation", async () => {
  const deprecation = { since: "2026-01-01T00:00:00Z", sunset: "2027-01-01T00:00:00Z", link: "/docs" };
  const operation = defineOperation({
    ...{ ...statusDefinition, deprecation },
    handle: async () => ({ status: 200, body: "1", headers: { link: '<?a>; rel="next"' } }),
  });
  const { send } = await createHandlerFixture({ operations: [operation] });
  const { headers } = await send("GET", "/v1/store/orders/1/status");
  expect(headers.get("link")).toMatch(/^<\?a>; rel="next", <\/docs>; rel="deprecation"/);
});

test.each([
  ["a string", "{}"],
  ["bytes", new TextEncoder().encode("{}")],
  ["a stream", new Blob(["{}"]).stream()],
  ["a reader", readerOf([["{", "}"]])],
])("an operation can return %s as body", async (_what, body) => {
  const operation = defineOperation({ ...statusDefinition, handle: async () => ({ status: 200, body }) });
  const { send } = await createHandlerFixture({ operations: [operation] });
  expect((await send("GET", "/v1/store/orders/1/status")).text).toBe("{}");
});

test("an operation can return any header of the form of HTTP, and 204 without a body", async () => {
  const headers = { location: "/v1/a?b=c", "x-latin": "caf\u00e9" };
  for (const reply of [{ status: 201, body: "{}", headers }, { status: 204 }] as const) {
    const operation = defineOperation({ ...statusDefinition, handle: async () => reply });
    const { send } = await createHandlerFixture({ operations: [operation] });
    expect((await send("GET", "/v1/store/orders/1/status")).status).toBe(reply.status);
  }
});
