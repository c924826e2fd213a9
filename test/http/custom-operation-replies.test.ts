import { expect, test } from "vitest";
import { defineOperation } from "../../lib/http/define-operation.ts";
import type { SuccessReply, TextReader } from "../../lib/http/reply.ts";
import { statusDefinition } from "./custom-operations-fixture.ts";
import { createHandlerFixture } from "./fixture.ts";

function ownHeader(name: string) {
  const reply = { status: 200, body: "{}", headers: { [name]: "2" } } as const;
  return [`the header ${name}`, reply, new RegExp(`"${name}", which the service sets`)] as const;
}

test.each<readonly [what: string, reply: SuccessReply, reason: RegExp]>([
  [
    "a header with a line break",
    { status: 200, body: "{}", headers: { location: "/a\nb: c" } },
    /"location"/,
  ],
  ["a header with a dash", { status: 200, body: "{}", headers: { "x-title": "a – b" } }, /"x-title"/],
  ["a header name with a space", { status: 200, body: "{}", headers: { "x title": "a" } }, /"x title"/],
  ...["content-length", "Transfer-Encoding", "connection", "Keep-Alive", "trailer", "upgrade", "Date"].map(
    ownHeader,
  ),
  ...["X-RateLimit-Remaining", "x-ratelimit-limit", "X-Request-Id", "Deprecation", "sunset"].map(ownHeader),
])("an operation that returns %s is a 500, and the event says why", async (_what, reply, reason) => {
  const operation = defineOperation({ ...statusDefinition, handle: async () => reply });
  const { events, send } = await createHandlerFixture({ operations: [operation] });
  const { status, headers, text } = await send("GET", "/v1/store/orders/1/status");
  expect([status, JSON.parse(text).code]).toEqual([500, "internal_error"]);
  expect(headers.has("x-ratelimit-limit")).toBe(true);
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

const parts = [["{", "}"]];
const reader: TextReader = {
  async read() {
    const value = parts.shift();
    return value === undefined ? { done: true } : { done: false, value };
  },
  async cancel() {},
};

test.each([
  ["a string", "{}"],
  ["bytes", new TextEncoder().encode("{}")],
  ["a stream", new Blob(["{}"]).stream()],
  ["a reader", reader],
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
