import { expect, onTestFinished, test, vi } from "vitest";
import { createHandler } from "../../lib/http/handler.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { codeOf, createHandlerFixture, NOON } from "./fixture.ts";

test("with a clock that returns no instant, nobody is admitted, and each request reports why", async () => {
  const { send, store, events, key } = await createHandlerFixture({ clock: () => new Date(NOON) as never });
  for (const path of ["/v1/store/orders", "/v1/nowhere", "/v1/pets/7"]) {
    const response = await send("GET", path);
    expect(codeOf(response)).toBe("internal_error");
    expect(response.headers.get("x-ratelimit-remaining")).toBe("60");
  }
  expect(codeOf(await send("DELETE", "/v1/store/order/1"))).toBe("internal_error");
  expect(await store.orders.find(1n)).toMatchObject({ status: "pending" });
  const guess = { authorization: `Bearer ${key}x` };
  for (let count = 0; count < 70; count++)
    expect(codeOf(await send("GET", "/v1/store/orders", guess))).toBe("internal_error");
  expect((await send("GET", "/readyz")).status).toBe(500);
  expect((await send("GET", "/healthz")).status).toBe(200);
  const failed = events.filter(({ status }) => status === 500);
  expect(failed).toHaveLength(75);
  for (const { error } of failed)
    expect(error).toMatchObject({
      code: "invalid_input",
      message: expect.stringMatching(/^clock: It is a Date/),
    });
  expect((await store.accounts.find("shop"))?.usage.day.count).toBe(0);
});

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
