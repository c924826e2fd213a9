import { describe, expect, test } from "vitest";
import { codeOf, MAX, openShop } from "./fixture.ts";

describe("listOrders", () => {
  test("answers every order whatever its state, ascending, with exactly the fields it has", async () => {
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

describe("cancelOrder", () => {
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
