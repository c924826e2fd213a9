import { describe, expect, test } from "vitest";
import { StoreUnavailableError } from "../../lib/core/errors.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { codeOf, createHandlerFixture, NOON } from "./fixture.ts";

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
    expect([answer.status, codeOf(answer), answer.headers.get("retry-after")]).toEqual([
      503,
      "store_unavailable",
      "5",
    ]);
    const quota = ["limit", "remaining", "reset"].map((name) =>
      Number(answer.headers.get(`x-ratelimit-${name}`)),
    );
    expect(quota).toEqual([60, 60, NOON / 1_000 + 60]);
    expect((await memory.orders.find(1n))?.status).toBe("pending");
    expect(answer.text).not.toMatch(/SQLITE|secret|disk/);
    expect(events.at(-1)).toMatchObject({
      status: 503,
      errorCode: "store_unavailable",
      error: expect.any(Error),
    });
  });

  test("that fails after admission causes a 503 with the account's quota", async () => {
    const memory = createMemoryStore();
    const { send, events, keyId } = await createHandlerFixture({ store: memory });
    memory.orders.apply = down;
    const answer = await send("DELETE", "/v1/store/orders/1");
    expect([answer.status, codeOf(answer), answer.headers.get("x-ratelimit-remaining")]).toEqual([
      503,
      "store_unavailable",
      "59",
    ]);
    expect(events.at(-1)).toMatchObject({
      ...{ operation: "cancelOrder", accountId: "shop", keyId, plan: "free" },
      error: { message: "disk gone" },
    });
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

test("a function of the embedder that throws causes a 500, and the handler does not reject", async () => {
  const fail = () => {
    throw new Error("no hosts at /secret/path");
  };
  for (const options of [{ hosts: fail }, { documents: fail }]) {
    const { send, events } = await createHandlerFixture(options);
    const answer = await send("GET", "/v1/store/orders", { authorization: "" });
    expect([answer.status, codeOf(answer)]).toEqual([500, "internal_error"]);
    expect(answer.text).not.toContain("secret");
    expect(answer.headers.has("x-ratelimit-limit")).toBe(true);
    expect(events).toMatchObject([{ errorCode: "internal_error", error: expect.any(Error) }]);
  }
});

describe("the event of a request", () => {
  test("describes the outcome and never contains the key", async () => {
    const { events, key, keyId, send } = await createHandlerFixture();
    await send("DELETE", "/v1/store/orders/2", {}, { requestId: "r-1" });
    expect(events).toEqual([
      {
        requestId: "r-1",
        path: "/v1/store/orders/2",
        method: "DELETE",
        operation: "cancelOrder",
        status: 409,
        durationMs: expect.any(Number),
        accountId: "shop",
        keyId,
        plan: "free",
        errorCode: "order_already_shipped",
        bodyEnd: "complete",
      },
    ]);
    expect(JSON.stringify(events)).not.toContain(key);
  });

  test("the event of a request is emitted once per request, and an observer that throws does not affect the response", async () => {
    const { send } = await createHandlerFixture({
      onRequest: () => {
        throw new Error("observer");
      },
    });
    expect((await send("GET", "/v1/store/orders")).status).toBe(200);
  });

  test("the event of a request has the same request identifier as the response", async () => {
    const { events, send } = await createHandlerFixture();
    const { headers } = await send("GET", "/v1/store/orders");
    expect(events[0]?.requestId).toBe(headers.get("x-request-id"));
  });
});
