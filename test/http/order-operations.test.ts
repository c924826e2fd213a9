import { describe, expect, test } from "vitest";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import type { Store } from "../../lib/stores/store.ts";
import { codeOf, createHandlerFixture, MAX, NOON } from "./fixture.ts";

describe("listOrders", () => {
  test("listOrders returns every order, whatever its status, ascending, with exactly the fields that it has", async () => {
    const { send } = await createHandlerFixture();
    const { status, text, headers } = await send("GET", "/v1/store/orders");
    expect([status, headers.get("content-type")]).toEqual([200, "application/json"]);
    expect(text).toBe(
      '[{"id":1,"petId":7,"quantity":2},{"id":2,"shipDate":"2026-11-01T00:00:00Z","complete":true},{"id":3},' +
        '{"id":9223372036854775807,"petId":-1}]',
    );
  });

  test("replies to HEAD with the same headers and no body", async () => {
    const { send } = await createHandlerFixture();
    const { status, text, headers } = await send("HEAD", "/v1/store/orders");
    expect([status, text, headers.get("x-ratelimit-remaining")]).toEqual([200, "", "59"]);
  });

  test("ignores a query", async () => {
    const { send } = await createHandlerFixture();
    expect((await send("GET", "/v1/store/orders?page=2#x")).status).toBe(200);
  });
});

describe("cancelOrder", () => {
  test("cancels a pending order and replies 204 without a body", async () => {
    const { send, store } = await createHandlerFixture();
    const { status, text, headers } = await send("DELETE", `/v1/store/orders/${MAX}`);
    expect([status, text, headers.get("content-type")]).toEqual([204, "", null]);
    expect((await store.orders.find(MAX))?.status).toBe("cancelled");
    const again = await send("DELETE", `/v1/store/orders/${MAX}`);
    expect([again.status, codeOf(again)]).toEqual([409, "order_already_cancelled"]);
  });

  test.each([
    ["applies the cancel with the admission", (store: Store) => store],
    [
      "only admits",
      ({ accounts, ...store }: Store) => ({
        ...store,
        accounts: {
          ...accounts,
          admit: (...[key, at, policy]: Parameters<typeof accounts.admit>) => accounts.admit(key, at, policy),
        },
      }),
    ],
  ])("the history names the key and the request, in a store that %s", async (_, wrap) => {
    const { send, store, keyId } = await createHandlerFixture({ store: wrap(createMemoryStore()) });
    await send("DELETE", `/v1/store/orders/${MAX}`, {}, { requestId: "request-1" });
    const last = { event: "cancel", at: NOON, by: keyId, requestId: "request-1" };
    expect((await store.orders.find(MAX))?.history.at(-1)).toMatchObject(last);
  });

  test.each(["9223372036854775808", "01", "abc", "%00", "%E0%A4%A", "%", "%zz", "..;", "1%20", "1%0A"])(
    "replies 404 order_not_found to %j, which is not an int64",
    async (id) => {
      const { send } = await createHandlerFixture();
      const answer = await send("DELETE", `/v1/store/orders/${id}`);
      expect([answer.status, codeOf(answer)]).toEqual([404, "order_not_found"]);
    },
  );

  test("reads a percent-encoded digit as that digit", async () => {
    const { send } = await createHandlerFixture();
    expect((await send("DELETE", "/v1/store/orders/%31")).status).toBe(204);
  });

  test.each([
    ["DELETE", "1", "too_early"],
    ["DELETE", "1, 1", "too_early"],
    ["DELETE", "", "too_early"],
    ["OPTIONS", "1", "too_early"],
    ["GET", "1", 200],
    ["HEAD", "1", 200],
  ])("a %s with Early-Data: %j is %j: what it would change is neither done nor counted", async (...row) => {
    const [method, value, expected] = row;
    const { send, store, events } = await createHandlerFixture();
    const path = method === "DELETE" ? "/v1/store/orders/1" : "/v1/store/orders";
    const answer = await send(method, path, { "early-data": value });
    expect(answer.status === 425 ? codeOf(answer) : answer.status).toBe(expected);
    expect((await store.orders.find(1n))?.status).toBe("pending");
    const isCounted = events.at(-1)?.accountId !== undefined;
    expect(isCounted).toBe(expected === 200);
  });

  test.each([
    [{ "if-match": '"v1"' }, 412],
    [{ "if-match": 'W/"v1", "v2"' }, 412],
    [{ "if-match": "" }, 412],
    [{ "if-match": "*", "if-none-match": " * " }, 412],
    [{ "if-none-match": "*" }, 412],
    [{ "if-match": "*" }, 204],
    [{ "if-none-match": '"v1"' }, 204],
    [{ "if-unmodified-since": "Thu, 01 Jan 1970 00:00:00 GMT" }, 204],
    [{ "if-modified-since": "Fri, 01 Jan 2100 00:00:00 GMT" }, 204],
  ])("with %j the cancel of a pending order is %i, and every other error stays", async (headers, status) => {
    const { send, store, events } = await createHandlerFixture();
    const cancel = async (id: string, more = {}) => {
      const answer = await send("DELETE", `/v1/store/orders/${id}`, { ...headers, ...more });
      return answer.status === 204 ? 204 : codeOf(answer);
    };
    expect(await cancel("1")).toBe(status === 412 ? "precondition_failed" : 204);
    expect(events.at(-1)).toMatchObject({ operation: "cancelOrder", status, accountId: "shop" });
    expect((await store.orders.find(1n))?.status).toBe(status === 412 ? "pending" : "cancelled");
    expect(await cancel("2")).toBe("order_already_shipped");
    expect(await cancel("3")).toBe("order_already_cancelled");
    expect(await cancel("4")).toBe("order_not_found");
    expect(await cancel("x")).toBe("order_not_found");
    expect(await cancel("1", { authorization: "" })).toBe("missing_api_key");
    expect((await send("GET", "/v1/store/orders", headers)).status).toBe(200);
    for (let count = 0; count < 60; count++) await send("GET", "/v1/store/orders");
    expect(await cancel("1")).toBe("rate_limit_exceeded");
  });
});
