import fc from "fast-check";
import { expect, test } from "vitest";
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
  times: fc.constantFrom(1, 1, 1, 30),
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

          const [limit, remaining, reset] = ["limit", "remaining", "reset"].map((name) => {
            const value = headers.get(`x-ratelimit-${name}`);
            expect(value, `${name} of ${status}`).toMatch(/^\d+$/);
            return Number(value);
          }) as [number, number, number];
          expect([60, 1000]).toContain(limit);
          expect(remaining).toBeLessThanOrEqual(limit);
          expect(reset * 1000).toBeGreaterThanOrEqual(time.now);

          const retryAfter = headers.get("retry-after");
          expect(retryAfter !== null).toBe(status === 429 || status === 503);
          if (status === 429) {
            expect(remaining).toBe(0);
            expect(Number(retryAfter)).toBeGreaterThanOrEqual(1);
            expect(Number(retryAfter) * 1000).toBeGreaterThanOrEqual(reset * 1000 - time.now - 999);
          }
          if (status >= 400 && method !== "HEAD") expect(JSON.parse(text)).toMatchObject({ status });
          expect(headers.has("www-authenticate")).toBe(status === 401);
          expect(headers.has("allow")).toBe(status === 405);
          if (
            path.startsWith("/v1/pets/") &&
            (method === "GET" || method === "HEAD") &&
            requestError === undefined
          ) {
            expect(headers.get("deprecation")).toMatch(/^@\d+$/);
            expect([headers.has("sunset"), headers.has("link")]).toEqual([true, true]);
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
