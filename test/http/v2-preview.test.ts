import { expect, test } from "vitest";
import { OPERATIONS } from "../../lib/http/operations.ts";
import { V2_PREVIEW_OPERATIONS } from "../../lib/http/v2-preview.ts";
import type { OrderQuery } from "../../lib/orders/order-query.ts";
import { orderFromJson } from "../../lib/orders/wire.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { codeOf, createHandlerFixture, MAX } from "./fixture.ts";

const operations = [...OPERATIONS, ...V2_PREVIEW_OPERATIONS];
const serve = (options: Parameters<typeof createHandlerFixture>[0] = {}) =>
  createHandlerFixture({ plan: "business", operations, ...options });

interface Page {
  readonly orders: readonly { readonly id: number }[];
  readonly next?: string;
}

test("the preview is off unless it is asked for", async () => {
  const { send } = await createHandlerFixture();
  expect(codeOf(await send("GET", "/v2/store/orders"))).toBe("route_not_found");
});

test("a page has the records of v1, with every digit, and no next without a further one", async () => {
  const { send, events } = await serve();
  const page = await send("GET", "/v2/store/orders");
  const list = await send("GET", "/v1/store/orders");
  expect([page.status, page.text]).toEqual([200, `{"orders":${list.text}}`]);
  expect(page.text).toContain(`"id":${MAX}`);
  expect(page.headers.get("link")).toBeNull();
  expect(page.headers.get("x-ratelimit-limit")).toBe("1000");
  expect(events[0]).toMatchObject({ operation: "pageOrders", status: 200 });
  expect(codeOf(await send("GET", "/v2/store/orders", { authorization: "" }))).toBe("missing_api_key");
  expect(await send("HEAD", "/v2/store/orders")).toMatchObject({ status: 200, text: "" });
});

test("following Link visits each order once in either direction, while orders are added", async () => {
  const { send, store } = await serve();
  const ids = Array.from({ length: 250 }, (_, index) => 10n + 2n * BigInt(index));
  await store.orders.place(ids.map((id) => ({ record: { id }, status: "pending" })));
  for (const order of ["asc", "desc"]) {
    const found: bigint[] = [];
    let pages = 0;
    let url = new URL(`http://localhost/v2/store/orders?limit=40&status=pending&order=${order}`);
    for (let more = true; more; pages++) {
      const { text, headers } = await send("GET", `${url.pathname}${url.search}`);
      const { orders, next } = JSON.parse(text) as Page;
      found.push(...orders.map((record) => orderFromJson(JSON.stringify(record)).id));
      await store.orders.place([{ record: { id: -BigInt(pages) - 1_000n }, status: "pending" }]);
      await store.orders.place([{ record: { id: 11n + 40n * BigInt(pages) }, status: "pending" }]);
      const [, link] = /^<([^>]+)>; rel="next"$/.exec(headers.get("link") ?? "") ?? [];
      more = link !== undefined;
      if (link !== undefined) url = new URL(link, url);
      expect(url.searchParams.get("cursor") ?? undefined).toBe(more ? next : url.searchParams.get("cursor"));
      expect(next !== undefined).toBe(more);
    }
    expect(new Set(found).size).toBe(found.length);
    expect(found.filter((id) => ids.includes(id)).toSorted((a, b) => Number(a - b))).toEqual(ids);
    expect(found).toEqual(found.toSorted((a, b) => Number(order === "asc" ? a - b : b - a)));
  }
});

test("status selects orders, and limit is 100 unless it is given", async () => {
  const { send, store } = await serve();
  const ids = Array.from({ length: 1_200 }, (_, index) => 10n + BigInt(index));
  await store.orders.place(ids.map((id) => ({ record: { id }, status: "shipped" })));
  const count = async (query: string) => {
    const { orders } = JSON.parse((await send("GET", `/v2/store/orders${query}`)).text) as Page;
    return orders.length;
  };
  expect(await count("")).toBe(100);
  expect(await count("?limit=1000")).toBe(1_000);
  expect(await count("?status=cancelled")).toBe(1);
  expect(await count("?status=pending&order=desc&limit=1")).toBe(1);
});

const forged = (text: string) => btoa(text).replaceAll("=", "");

test.each([
  ["limit=0", ["query.limit"]],
  ["limit=1001", ["query.limit"]],
  ["limit=1e3", ["query.limit"]],
  ["limit=%31%30", []],
  ["limit=", ["query.limit"]],
  ["limit=5&limit=5", ["query.limit"]],
  ["status=lost", ["query.status"]],
  ["status=pending&status=shipped", ["query.status"]],
  ["order=up", ["query.order"]],
  ["order=toString&status=constructor", ["query.status", "query.order"]],
  ["cursor=", ["query.cursor"]],
  ["cursor=asc", ["query.cursor"]],
  [`cursor=${forged("asc all 1")}&cursor=${forged("asc all 1")}`, ["query.cursor"]],
  [`cursor=${forged("asc all 1")}`, []],
  [`cursor=${forged("asc all 1")}&limit=2`, []],
  [`cursor=${forged("asc all 1")}%3D`, ["query.cursor"]],
  [`cursor=${forged("asc all 1")}&order=desc`, ["query.cursor"]],
  [`cursor=${forged("asc all 1")}&status=pending`, ["query.cursor"]],
  [`cursor=${forged("asc all 01")}`, ["query.cursor"]],
  [`cursor=${forged("asc all 9223372036854775808")}`, ["query.cursor"]],
  [`cursor=${forged("asc all 1 OR 1=1")}`, ["query.cursor"]],
  [`cursor=${"A".repeat(8_000)}`, ["query.cursor"]],
  ["page=2", ["query.page"]],
  ["?limit=1", ["query.?limit"]],
  ["__proto__=1", ["query.__proto__"]],
  ["limit=x&offset=1", ["query.offset", "query.limit"]],
])("the query %s has the issues %j", async (query, paths) => {
  const { send } = await serve();
  const answer = await send("GET", `/v2/store/orders?${query}`);
  const { code, issues = [] } = JSON.parse(answer.text);
  expect([answer.status, code]).toEqual(paths.length > 0 ? [400, "invalid_input"] : [200, undefined]);
  expect(issues.map(({ path }: { path: string }) => path)).toEqual(paths);
});

test.each([
  ["page=2", "There is no such parameter. Use limit, cursor, status or order."],
  ["order=up", "Use one of: asc, desc."],
  ["cursor=x", "Use 'next' of a page with the same 'status' and 'order', or leave it out."],
])("the issue of the query %s says what to use instead", async (query, message) => {
  const { send } = await serve();
  const { issues } = JSON.parse((await send("GET", `/v2/store/orders?${query}`)).text);
  expect(issues).toEqual([{ path: `query.${query.split("=", 1)}`, message }]);
});

test("a page can be empty although another one follows", async () => {
  const store = createMemoryStore();
  store.orders.page = async () => ({ orders: [], next: 7n });
  const { send } = await serve({ store });
  const { text, headers } = await send("GET", "/v2/store/orders?status=shipped");
  expect(JSON.parse(text)).toEqual({ orders: [], next: expect.any(String) });
  expect(headers.get("link")).toMatch(/^<\?limit=100&order=asc&status=shipped&cursor=[\w-]+>; rel="next"$/);
});

test("the responses of v1 are the same with the preview, byte for byte", async () => {
  const [plain, preview] = await Promise.all([createHandlerFixture({ plan: "business" }), serve()]);
  const context = { requestId: "request-1" };
  for (const [method, path] of [
    ["GET", "/v1/store/orders"],
    ["GET", "/v1/store/orders?limit=1&cursor=x&status=lost&order=up"],
    ["HEAD", "/v1/store/orders"],
    ["DELETE", "/v1/store/orders/1"],
    ["DELETE", "/v1/store/orders/1"],
    ["DELETE", "/v1/store/orders/2"],
    ["DELETE", "/v1/store/orders/x"],
    ["POST", "/v1/store/orders"],
    ["PUT", "/v1/store/orders/1"],
    ["GET", "/v1/pets/1"],
    ["GET", "/v3/store/orders"],
    ["GET", "/healthz"],
  ] as const) {
    const [expected, found] = await Promise.all([
      plain.send(method, path, {}, context),
      preview.send(method, path, {}, context),
    ]);
    const bytes = (answer: typeof found) => [answer.status, [...answer.headers], answer.text];
    expect(bytes(found), `${method} ${path}`).toEqual(bytes(expected));
  }
});

test("a page names the orders that the store cannot read, and has the others", async () => {
  const store = createMemoryStore();
  const { page } = store.orders;
  const damaged = [{ id: MAX - 1n, problem: `The record of order ${MAX - 1n} is damaged: {"secret` }];
  const orders = {
    ...store.orders,
    page: async (query: OrderQuery) => ({ ...(await page(query)), damaged }),
  };
  const { send } = await serve({ store: { ...store, orders } });
  const { status, text } = await send("GET", "/v2/store/orders?limit=2");
  expect(status).toBe(200);
  expect(text).toContain(`],"damaged":[${MAX - 1n}],"next":"`);
  expect(JSON.parse(text)).toMatchObject({ orders: [{ id: 1 }, { id: 2 }] });
});
