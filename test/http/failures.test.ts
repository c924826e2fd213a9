import { describe, expect, test } from "vitest";
import { StoreUnavailableError } from "../../lib/core/errors.ts";
import type { OrderStatus } from "../../lib/orders/lifecycle.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { codeOf, createHandlerFixture, factsOf, NOON } from "./fixture.ts";

describe("a failing store", () => {
  const down = async () => {
    throw new StoreUnavailableError("disk gone", { cause: new Error("SQLITE_IOERR at /secret/path") });
  };

  test("that is unreachable causes a 503 with Retry-After and an unused minute, and no request is admitted", async () => {
    const memory = createMemoryStore();
    const { send, events } = await createHandlerFixture({ store: memory });
    memory.accounts.admit = down;
    // The address has used up its quota, which says nothing about the key.
    for (let guess = 0; guess < 61; guess++) await send("GET", "/v1/store/orders", { authorization: "" });
    const answer = await send("DELETE", "/v1/store/orders/1");
    expect(factsOf(answer, "retry-after")).toEqual([503, "store_unavailable", "5"]);
    const quota = ["limit", "remaining", "reset"].map((name) =>
      Number(answer.headers.get(`x-ratelimit-${name}`)),
    );
    expect(quota).toEqual([60, 60, NOON / 1_000 + 60]);
    expect((await memory.orders.find(1n))?.status).toBe("pending");
    expect(answer.text).not.toMatch(/SQLITE|secret|disk/);
    const told = { status: 503, errorCode: "store_unavailable", error: expect.any(Error) };
    expect(events.at(-1)).toMatchObject(told);
  });

  test("that fails after admission causes a 503 with the account's quota", async () => {
    const memory = createMemoryStore();
    const { send, events, keyId } = await createHandlerFixture({ store: memory });
    memory.orders.apply = down;
    const answer = await send("DELETE", "/v1/store/orders/1");
    expect(factsOf(answer, "x-ratelimit-remaining")).toEqual([503, "store_unavailable", "59"]);
    expect(events.at(-1)).toMatchObject({
      ...{ operation: "cancelOrder", accountId: "shop", keyId, plan: "free" },
      error: { message: "disk gone" },
    });
  });

  test("that has an order with an unknown status causes a 500 when it is cancelled, with what to do in the event", async () => {
    const { send, store, events } = await createHandlerFixture();
    await store.orders.place([{ record: { id: 50n }, status: "constructor" as OrderStatus }]);
    expect(codeOf(await send("DELETE", "/v1/store/orders/50"))).toBe("internal_error");
    const message = expect.stringMatching(
      /^Order 50 has the status 'constructor'.*Correct it in the database, or update this version if a newer one has written it\.$/,
    );
    expect(events.at(-1)).toMatchObject({ status: 500, error: { message } });
    expect(JSON.parse((await send("GET", "/v1/store/orders")).text)).toHaveLength(5);
  });

  test("that throws an unexpected error causes a 500 that reveals nothing of it", async () => {
    const memory = createMemoryStore();
    const { send } = await createHandlerFixture({ store: memory });
    memory.orders.list = () => {
      throw new TypeError("rows is not iterable: SELECT *");
    };
    const answer = await send("GET", "/v1/store/orders");
    expect([answer.status, codeOf(answer)]).toEqual([500, "internal_error"]);
    expect(answer.text).not.toContain("SELECT");
  });
});

test("the event of a request describes the outcome and never contains the key", async () => {
  const { events, key, keyId, send } = await createHandlerFixture();
  const { headers } = await send("DELETE", "/v1/store/orders/2", {}, { requestId: "r-1" });
  expect(headers.get("x-request-id")).toBe("r-1");
  expect(events).toEqual([
    {
      ...{ requestId: "r-1", path: "/v1/store/orders/2", method: "DELETE", operation: "cancelOrder" },
      ...{ status: 409, errorCode: "order_already_shipped", bodyEnd: "complete" },
      ...{ durationMs: expect.any(Number), accountId: "shop", keyId, plan: "free" },
    },
  ]);
  expect(JSON.stringify(events)).not.toContain(key);
});
