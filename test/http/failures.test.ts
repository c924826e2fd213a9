import { describe, expect, test } from "vitest";
import { StoreUnavailableError } from "../../lib/errors.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { codeOf, openShop } from "./fixture.ts";

describe("a store that fails", () => {
  const down = async () => {
    throw new StoreUnavailableError("disk gone", { cause: new Error("SQLITE_IOERR at /secret/path") });
  };

  test("cannot be asked: 503 with Retry-After and the address's headers, never a request let through", async () => {
    const memory = createMemoryStore();
    const { send, events } = await openShop({ store: memory });
    memory.accounts.admit = down;
    const answer = await send("DELETE", "/v1/store/orders/1");
    expect([answer.status, codeOf(answer), answer.headers.get("retry-after")]).toEqual([
      503,
      "store_unavailable",
      "5",
    ]);
    expect(answer.headers.get("x-ratelimit-limit")).toBe("60");
    expect((await memory.orders.find(1n))?.status).toBe("pending");
    expect(answer.text).not.toMatch(/SQLITE|secret|disk/);
    expect(events.at(-1)).toMatchObject({
      status: 503,
      errorCode: "store_unavailable",
      error: expect.any(Error),
    });
  });

  test("fails after the request was let in: 503 with the account's headers", async () => {
    const memory = createMemoryStore();
    const { send } = await openShop({ store: memory });
    memory.orders.apply = down;
    const answer = await send("DELETE", "/v1/store/orders/1");
    expect([answer.status, codeOf(answer), answer.headers.get("x-ratelimit-remaining")]).toEqual([
      503,
      "store_unavailable",
      "59",
    ]);
  });

  test("fails with something unforeseen: 500, and nothing of it is told", async () => {
    const memory = createMemoryStore();
    const { send } = await openShop({ store: memory });
    memory.orders.list = () => {
      throw new TypeError("rows is not iterable: SELECT *");
    };
    const answer = await send("GET", "/v1/store/orders");
    expect([answer.status, codeOf(answer)]).toEqual([500, "internal_error"]);
    expect(answer.text).not.toContain("SELECT");
  });
});

describe("the event of a request", () => {
  test("tells what happened and never the key", async () => {
    const { events, key, keyId, send } = await openShop();
    await send("DELETE", "/v1/store/orders/2", {}, { requestId: "r-1" });
    expect(events).toEqual([
      {
        requestId: "r-1",
        method: "DELETE",
        operation: "cancelOrder",
        status: 409,
        durationMs: expect.any(Number),
        account: "shop",
        keyId,
        plan: "free",
        errorCode: "order_already_shipped",
        bodyEnd: "complete",
      },
    ]);
    expect(JSON.stringify(events)).not.toContain(key);
  });

  test("comes once for each request, and an observer that throws harms nobody", async () => {
    const { send } = await openShop({
      onRequest: () => {
        throw new Error("observer");
      },
    });
    expect((await send("GET", "/v1/store/orders")).status).toBe(200);
  });

  test("carries the request's name, which the answer has as well", async () => {
    const { events, send } = await openShop();
    const { headers } = await send("GET", "/v1/store/orders");
    expect(events[0]?.requestId).toBe(headers.get("x-request-id"));
  });
});
