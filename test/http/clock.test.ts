import { expect, onTestFinished, test, vi } from "vitest";
import { createHandler } from "../../lib/http/handler.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { codeOf, createHandlerFixture, NOON } from "./fixture.ts";

/** What untyped clocks return. */
const CLOCKS: readonly (readonly [name: string, clock: () => unknown, found: RegExp])[] = [
  ["a Date", () => new Date(NOON), /^clock: It is a Date\. Use whole milliseconds/],
  ["NaN", () => Number.NaN, /^clock: It is NaN\./],
  ["Infinity", () => Infinity, /^clock: It is Infinity\./],
  ["a fraction", () => NOON + 0.5, /^clock: It is \d+\.5\. .*Math\.floor\(\)/],
  ["a negative number", () => -1, /^clock: It is -1\./],
  ["microseconds", () => NOON * 1_000, /^clock: It is \d+\./],
  ["a text", () => `${NOON}`, /^clock: It is string\./],
  ["a bigint", () => BigInt(NOON), /^clock: It is bigint\./],
  ["nothing", () => undefined, /^clock: It is undefined\./],
];

test.each(CLOCKS)(
  "with a clock that returns %s, nobody is admitted, and each request reports why",
  async (_name, clock, found) => {
    const { send, store, events, key } = await createHandlerFixture({ clock: clock as () => number });
    for (const path of ["/v1/store/orders", "/v1/nowhere", "/v1/pets/7"]) {
      const response = await send("GET", path);
      expect(codeOf(response)).toBe("internal_error");
      expect(response.headers.get("x-ratelimit-remaining")).toBe("60");
    }
    expect(codeOf(await send("DELETE", "/v1/store/order/1"))).toBe("internal_error");
    expect(await store.orders.find(1n)).toMatchObject({ status: "pending" });
    for (let guess = 0; guess < 70; guess++)
      expect(codeOf(await send("GET", "/v1/store/orders", { authorization: `Bearer ${key}x` }))).toBe(
        "internal_error",
      );
    expect((await send("GET", "/readyz")).status).toBe(500);
    expect((await send("GET", "/healthz")).status).toBe(200);
    const failed = events.filter(({ status }) => status === 500);
    expect(failed).toHaveLength(75);
    for (const { error } of failed)
      expect(error).toMatchObject({ code: "invalid_input", message: expect.stringMatching(found) });
    expect((await store.accounts.find("shop"))?.usage.day.count).toBe(0);
  },
);

test("a clock that throws admits nobody, and its error is on the console if nobody else takes it", async () => {
  const printed = vi.spyOn(console, "error").mockImplementation(() => {});
  onTestFinished(() => printed.mockRestore());
  const clock = () => {
    throw new Error("The time server is down.");
  };
  const handler = createHandler({ store: createMemoryStore(), clock });
  expect((await handler(new Request("http://localhost/v1/store/orders"))).status).toBe(500);
  expect(printed.mock.calls).toEqual([["store-orders: handler failed: The time server is down."]]);
});

test("a clock that is right again serves again", async () => {
  let now: number = Number.NaN;
  const { send } = await createHandlerFixture({ clock: () => now });
  expect((await send("GET", "/v1/store/orders")).status).toBe(500);
  now = NOON;
  expect((await send("GET", "/v1/store/orders")).status).toBe(200);
});
