import fc from "fast-check";
import { assert, expect, test } from "vitest";
import { StoreUnavailableError } from "../../lib/core/errors.ts";
import { ERRORS } from "../../lib/http/errors.ts";
import { OPERATIONS } from "../../lib/http/operations.ts";
import { DAY_MS, MINUTE_MS } from "../../lib/plans/windows.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { createHandlerFixture, MAX } from "./fixture.ts";

const FAULTS = ["none", "admit", "work", "bug"] as const;

const step = fc.record({
  method: fc.constantFrom("GET", "HEAD", "DELETE", "POST", "OPTIONS", "PUT"),
  path: fc.constantFrom(
    "/v1/store/orders",
    "/v1/store/orders/1",
    "/v1/store/orders/2",
    `/v1/store/orders/${MAX}`,
    "/v1/store/orders/none",
    "/v1/pets/1",
    "/v1/pets/2",
    "/v1/nowhere",
    "/",
  ),
  key: fc.constantFrom("good", "good", "good", "none", "wrong"),
  fault: fc.constantFrom("none", "none", "none", "none", ...FAULTS),
  requestError: fc.constantFrom(
    undefined,
    undefined,
    undefined,
    "bad_request" as const,
    "headers_too_large" as const,
    "not_implemented" as const,
  ),
  wait: fc.constantFrom(0, 0, 0, 0, 1, 999, MINUTE_MS, DAY_MS, 200 * DAY_MS),
  times: fc.constantFrom(1, 1, 1, 1, 1, 1, 1, 30),
});

const LIST = {
  method: "GET",
  path: "/v1/store/orders",
  key: "good",
  fault: "none",
  requestError: undefined,
  wait: 0,
  times: 1,
} as const;

/** Three of these exceed the limit. */
const FLOOD = { ...LIST, times: 30 } as const;

/** One request for each other status, because random sequences may miss one. */
const EACH_STATUS = [
  { ...LIST, key: "wrong" },
  { ...LIST, path: "/v1/nowhere" },
  { ...LIST, method: "PUT" },
  { ...LIST, method: "DELETE", path: "/v1/store/orders/1" },
  { ...LIST, fault: "bug" },
  { ...LIST, fault: "work" },
  { ...LIST, method: "DELETE", path: "/v1/store/orders/2" },
  { ...LIST, requestError: "bad_request" },
  { ...LIST, requestError: "headers_too_large" },
  { ...LIST, requestError: "not_implemented" },
  { ...LIST, path: "/v1/pets/1", wait: 200 * DAY_MS },
] as const;

test("every response of the API, failures included, has all three headers, and they fit its status", async () => {
  const seen = new Set<number>();
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
      const store = createMemoryStore();
      const { orders, accounts } = { orders: { ...store.orders }, accounts: { ...store.accounts } };
      const { send, time, key } = await createHandlerFixture({
        store,
        pets: async (id) => (id === 1n ? { id } : undefined),
      });
      for (const { method, path, key: presented, fault, requestError, wait, times } of steps) {
        time.now += wait;
        const broken = async () => {
          throw fault === "bug" ? new TypeError("bug") : new StoreUnavailableError("down");
        };
        Object.assign(store.accounts, accounts, fault === "admit" ? { admit: broken } : {});
        const worksNot = {
          apply: broken,
          list: () => ({ [Symbol.asyncIterator]: () => ({ next: broken }) }),
        };
        Object.assign(store.orders, orders, fault === "work" || fault === "bug" ? worksNot : {});
        const authorization = { good: `Bearer ${key}`, none: "", wrong: "Bearer so_test_shop_x" }[presented];
        for (let call = 0; call < times; call++) {
          const context = requestError === undefined ? {} : { requestError };
          const { status, headers, text } = await send(method, path, { authorization }, context);
          seen.add(status);

          // `assert`, because `expect` would take most of the time of so many responses.
          const facts = `${method} ${path}: ${status}`;
          const [limit, remaining, reset] = ["limit", "remaining", "reset"].map((name) => {
            const value = headers.get(`x-ratelimit-${name}`);
            assert(/^\d+$/.test(value ?? ""), `${name} of ${facts}`);
            return Number(value);
          }) as [number, number, number];
          assert(limit === 60 || limit === 1000, facts);
          assert(remaining <= limit, facts);
          assert(reset * 1000 >= time.now, facts);

          const retryAfter = headers.get("retry-after");
          assert((retryAfter !== null) === (status === 429 || status === 503), facts);
          if (status === 429) {
            assert(remaining === 0, facts);
            assert(Number(retryAfter) >= 1, facts);
            assert(Number(retryAfter) * 1000 >= reset * 1000 - time.now - 999, facts);
          }
          if (status >= 400 && method !== "HEAD") assert(JSON.parse(text).status === status, facts);
          assert(headers.has("www-authenticate") === (status === 401), facts);
          assert(headers.has("allow") === (status === 405), facts);
          if (
            path.startsWith("/v1/pets/") &&
            (method === "GET" || method === "HEAD") &&
            requestError === undefined
          ) {
            assert(/^@\d+$/.test(headers.get("deprecation") ?? ""), facts);
            assert(headers.has("sunset") && headers.has("link"), facts);
          }
        }
      }
    }),
    { numRuns: 100, examples: [[[FLOOD, FLOOD, FLOOD]], [[...EACH_STATUS]]] },
  );
  const reachable = Object.values(ERRORS).map(({ status }) => status);
  const elsewhere = [403, 406, 408, 412, 413, 414, 417, 421, 425, 504];
  expect([...seen].sort()).toEqual(
    [...new Set([200, 204, ...reachable])].filter((status) => !elsewhere.includes(status)).sort(),
  );
});

test("every error code has a 4xx or 5xx status and a message in a full sentence", () => {
  for (const [code, { status, message }] of Object.entries(ERRORS)) {
    expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(message).toMatch(/^[A-Z].*\.$/);
  }
  const known = new Set(Object.keys(ERRORS));
  for (const { errors } of OPERATIONS) for (const code of errors) expect(known).toContain(code);
});
