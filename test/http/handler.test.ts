import { describe, expect, test } from "vitest";
import { StoreUnavailableError } from "../../lib/errors.ts";
import { MINUTE } from "../../lib/plans/windows.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { codeOf, MAX, NOON, openShop } from "./shop.ts";

describe("listOrders", () => {
  test("answers every order whatever its state, ascending, with exactly the fields it has (decisions 2, 4 and 5)", async () => {
    const { send } = await openShop();
    const { status, text, headers } = await send("GET", "/v1/store/orders");
    expect([status, headers.get("content-type")]).toEqual([200, "application/json"]);
    expect(text).toBe(
      '[{"id":1,"petId":7,"quantity":2},{"id":2,"shipDate":"2026-11-01T00:00:00Z","complete":true},{"id":3},' +
        '{"id":9223372036854775807,"petId":-1}]',
    );
  });

  test("HEAD answers the same headers and no body", async () => {
    const { send } = await openShop();
    const { status, text, headers } = await send("HEAD", "/v1/store/orders");
    expect([status, text, headers.get("x-ratelimit-remaining")]).toEqual([200, "", "59"]);
  });

  test("takes a query for nothing", async () => {
    const { send } = await openShop();
    expect((await send("GET", "/v1/store/orders?page=2#x")).status).toBe(200);
  });
});

describe("cancelOrder (decision 6)", () => {
  test("cancels a pending order: 204, no body, and it is cancelled", async () => {
    const { send, store } = await openShop();
    const { status, text, headers } = await send("DELETE", `/v1/store/orders/${MAX}`);
    expect([status, text, headers.get("content-type")]).toEqual([204, "", null]);
    expect((await store.orders.find(MAX))?.status).toBe("cancelled");
    const again = await send("DELETE", `/v1/store/orders/${MAX}`);
    expect([again.status, codeOf(again)]).toEqual([409, "order_already_cancelled"]);
  });

  test.each([
    ["2", 409, "order_already_shipped"],
    ["3", 409, "order_already_cancelled"],
    ["4", 404, "order_not_found"],
  ])("order %s: %i %s", async (id, status, code) => {
    const { send } = await openShop();
    const answer = await send("DELETE", `/v1/store/orders/${id}`);
    expect([answer.status, codeOf(answer)]).toEqual([status, code]);
  });

  test.each([
    "9223372036854775808",
    "-9223372036854775809",
    "1e3",
    "+1",
    "01",
    "-0",
    "1.0",
    "0x1",
    "abc",
    "%00",
    "1%00",
  ])("%j is no int64 and names no resource: 404 order_not_found", async (id) => {
    const { send } = await openShop();
    const answer = await send("DELETE", `/v1/store/orders/${id}`);
    expect([answer.status, codeOf(answer)]).toEqual([404, "order_not_found"]);
  });

  test.each(["%E0%A4%A", "%", "%zz", "..;", "1%20", "1%0A"])("%j does not upset it either", async (id) => {
    const { send } = await openShop();
    expect((await send("DELETE", `/v1/store/orders/${id}`)).status).toBe(404);
  });

  test("an escaped digit is that digit", async () => {
    const { send } = await openShop();
    expect((await send("DELETE", "/v1/store/orders/%31")).status).toBe(204);
  });

  test("a body is not looked at", async () => {
    const { handler, key } = await openShop();
    const request = new Request("http://localhost/v1/store/orders/1", {
      method: "DELETE",
      body: "{",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    });
    expect((await handler(request)).status).toBe(204);
  });
});

describe("routes", () => {
  test.each([
    ["/v1/store/orders/"],
    ["/v1//store/orders"],
    ["//v1/store/orders"],
    ["/v1/store/orders/1/"],
    ["/v1/store/orders//1"],
    ["/v1/store/Orders"],
    ["/v2/store/orders"],
    ["/store/orders"],
    ["/v1/store/%6frders"],
    ["/"],
  ])("%s is no route: 404 route_not_found", async (path) => {
    const { send } = await openShop();
    const answer = await send("GET", path);
    expect([answer.status, codeOf(answer)]).toEqual([404, "route_not_found"]);
  });

  test.each([
    ["POST", "/v1/store/orders", "GET, HEAD"],
    ["DELETE", "/v1/store/orders", "GET, HEAD"],
    ["OPTIONS", "/v1/store/orders", "GET, HEAD"],
    ["GET", "/v1/store/orders/1", "DELETE"],
    ["PATCH", "/v1/pets/1", "GET, HEAD"],
  ])("%s %s: 405 with Allow (decision 7)", async (method, path, allow) => {
    const { send } = await openShop();
    const answer = await send(method, path);
    expect([answer.status, codeOf(answer), answer.headers.get("allow")]).toEqual([
      405,
      "method_not_allowed",
      allow,
    ]);
  });
});

describe("authentication", () => {
  test.each([
    ["no header", {}, "missing_api_key"],
    ["another scheme", { authorization: "Basic abc" }, "missing_api_key"],
    ["no key behind the scheme", { authorization: "Bearer" }, "missing_api_key"],
    ["something that is no key", { authorization: "Bearer abc" }, "invalid_api_key"],
    [
      "a key with a wrong checksum",
      { authorization: `Bearer so_test_shop_${"0".repeat(38)}` },
      "invalid_api_key",
    ],
  ])("%s: 401 with a challenge (decision 7)", async (_name, headers, code) => {
    const { handler } = await openShop();
    for (const [method, path] of [
      ["GET", "/v1/store/orders"],
      ["DELETE", "/v1/store/orders/1"],
      ["GET", "/nowhere"],
    ]) {
      const response = await handler(
        new Request(`http://localhost${path}`, { method: method ?? "", headers }),
      );
      const answer = { status: response.status, headers: response.headers, text: await response.text() };
      expect([answer.status, codeOf(answer)]).toEqual([401, code]);
      expect(answer.headers.get("www-authenticate")).toMatch(/^Bearer/);
    }
  });

  test.each(["bearer", "BEARER", "bEaReR "])("the scheme is read in any case: %s", async (scheme) => {
    const { send, key } = await openShop();
    expect((await send("GET", "/v1/store/orders", { authorization: `${scheme} ${key}` })).status).toBe(200);
  });

  test("two Authorization headers are no key", async () => {
    const { handler, key } = await openShop();
    const headers = new Headers([
      ["authorization", `Bearer ${key}`],
      ["authorization", `Bearer ${key}`],
    ]);
    const response = await handler(new Request("http://localhost/v1/store/orders", { headers }));
    expect(response.status).toBe(401);
  });

  test("a key that is well formed and belongs to nobody is refused after a look at the store", async () => {
    const { send } = await openShop();
    const { key } = await openShop();
    const answer = await send("GET", "/v1/store/orders", { authorization: `Bearer ${key}` });
    expect([answer.status, codeOf(answer)]).toEqual([401, "invalid_api_key"]);
  });

  test("a revoked key fails at its very next request (decision 9)", async () => {
    const { accounts, keyId, send } = await openShop();
    expect((await send("GET", "/v1/store/orders")).status).toBe(200);
    await accounts.revokeKey(keyId);
    expect((await send("GET", "/v1/store/orders")).status).toBe(401);
  });

  test("guessing keys is slow: an address gets its 60 refusals a minute, then 429 (decision 12)", async () => {
    const { send, time, key } = await openShop();
    const guess = { authorization: "Bearer guess" };
    for (let call = 1; call <= 60; call++) {
      const { status, headers } = await send("GET", "/v1/store/orders", guess);
      expect([status, headers.get("x-ratelimit-remaining")]).toEqual([401, `${60 - call}`]);
    }
    const refused = await send("GET", "/v1/store/orders", guess);
    expect([refused.status, codeOf(refused), refused.headers.get("retry-after")]).toEqual([
      429,
      "rate_limit_exceeded",
      "60",
    ]);
    expect((await send("GET", "/v1/store/orders", guess, { address: "192.0.2.9" })).status).toBe(401);
    expect((await send("GET", "/v1/store/orders", { authorization: `Bearer ${key}` })).status).toBe(200);
    time.now += MINUTE;
    expect((await send("GET", "/v1/store/orders", guess)).status).toBe(401);
  });
});

describe("limits", () => {
  test("the limit is admitted, then 429 with Retry-After until the minute is over (decisions 10 and 11)", async () => {
    const { send, time } = await openShop();
    time.now = NOON + 59_001;
    for (let call = 1; call <= 60; call++) {
      const { status, headers } = await send("GET", "/v1/store/orders");
      expect([status, headers.get("x-ratelimit-remaining")]).toEqual([200, `${60 - call}`]);
    }
    const refused = await send("GET", "/v1/store/orders");
    expect([refused.status, codeOf(refused)]).toEqual([429, "rate_limit_exceeded"]);
    expect(refused.headers.get("retry-after")).toBe("1");
    expect(refused.headers.get("x-ratelimit-reset")).toBe(`${NOON / 1000 + 60}`);
    time.now = NOON + MINUTE;
    expect((await send("GET", "/v1/store/orders")).status).toBe(200);
  });

  test("every request of the API counts, whatever becomes of it; a refused one does not", async () => {
    const { send } = await openShop();
    const left = async (method: string, path: string) =>
      Number((await send(method, path)).headers.get("x-ratelimit-remaining"));
    expect(await left("GET", "/v1/nowhere")).toBe(59);
    expect(await left("POST", "/v1/store/orders")).toBe(58);
    expect(await left("DELETE", "/v1/store/orders/99")).toBe(57);
    expect(await left("HEAD", "/v1/store/orders")).toBe(56);
    expect(await left("GET", "/v1/pets/1")).toBe(55);
  });

  test("who goes on after a 429 is banned, and a ban hits one key (decision 14)", async () => {
    const { issued, send, time } = await openShop();
    const other = { authorization: `Bearer ${(await issued()).key}` };
    for (let call = 0; call < 80; call++) await send("GET", "/v1/store/orders");
    const banned = await send("GET", "/v1/store/orders");
    expect([banned.status, codeOf(banned)]).toEqual([429, "api_key_banned"]);
    expect([banned.headers.get("retry-after"), banned.headers.get("x-ratelimit-remaining")]).toEqual([
      "900",
      "0",
    ]);
    time.now += MINUTE;
    expect((await send("GET", "/v1/store/orders")).status).toBe(429);
    expect((await send("GET", "/v1/store/orders", other)).status).toBe(200);
    time.now += 14 * MINUTE;
    expect((await send("GET", "/v1/store/orders")).status).toBe(200);
  });
});

describe("a store that fails (decision 15)", () => {
  const down = async () => {
    throw new StoreUnavailableError("disk gone", { cause: new Error("SQLITE_IOERR at /secret/path") });
  };

  test("cannot be asked: 503 with Retry-After and the address's headers, never a request let through (decision 12)", async () => {
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

  test("fails with something unforeseen: 500, and nothing of it is told (decision 7)", async () => {
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
        milliseconds: expect.any(Number),
        account: "shop",
        keyId,
        plan: "free",
        errorCode: "order_already_shipped",
        ended: "complete",
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
