import { beforeEach, expect, test } from "vitest";
import type { StoredOrder } from "../../lib/orders/lifecycle.ts";
import { type ConsoleFixture, formToken, postHeaders, signIn, useConsole } from "../support/console.ts";

const HTML = `<img src=x onerror="alert(1)">`;
const ESCAPED = "&lt;img src=x onerror=&quot;alert(1)&quot;&gt;";

let console: ConsoleFixture;
let cookie: string;
let token: string;

beforeEach(async () => {
  console = await useConsole();
  cookie = await signIn(console);
  token = await formToken(console, cookie);
});

const get = (path: string) => fetch(console.at(path), { headers: { cookie } });
const page = async (path: string) => (await get(path)).text();
const post = (path: string, fields: Record<string, string>) =>
  fetch(console.at(path), {
    method: "POST",
    headers: { ...postHeaders(console), cookie },
    body: new URLSearchParams(fields),
  });

test("HTML cannot be stored in the status of an order, nor in a field of its record", async () => {
  const placed = await post("orders", { token, id: "1", status: HTML });
  expect(placed.status).toBe(200);
  expect(await console.store.orders.find(1n)).toEqual({ record: { id: 1n }, status: "pending" });
  for (const name of ["id", "petId", "quantity", "shipDate", "complete"]) {
    const response = await post("orders", { token, id: "2", [name]: HTML });
    expect(response.status, name).toBe(422);
    const text = await response.text();
    expect(text, name).not.toContain("<img");
    expect(text, name).toContain(`id="place-${name}-error"`);
  }
  expect(await console.store.orders.find(2n)).toBeUndefined();
});

test("HTML that a store returns is shown as text, in the table and on the page of the order", async () => {
  const stored = { record: { id: 1n, shipDate: HTML }, status: "pending" } satisfies StoredOrder;
  await console.store.orders.place([stored]);
  for (const path of ["orders", "orders/1"]) {
    const text = await page(path);
    expect(text, path).toContain(ESCAPED);
    expect(text, path).not.toContain("<img");
  }
});

test.each([
  ["find-order?id=9223372036854775808", 422],
  ["find-order?id=-9223372036854775809", 422],
  ["find-order?id=", 422],
  ["find-order?id=007", 422],
  [`find-order?id=${encodeURIComponent(HTML)}`, 422],
  ["orders/9223372036854775808", 422],
  ["orders?after=9223372036854775808", 422],
  [`orders?after=${encodeURIComponent(HTML)}`, 422],
  ["orders/9223372036854775807", 404],
  ["orders/1/ship", 404],
])("%s gets %d and a readable page", async (path, status) => {
  const response = await get(path);
  expect(response.status).toBe(status);
  const text = await response.text();
  expect(text).not.toContain("<img");
  if (status === 422) expect(text).toContain("-9223372036854775808 to 9223372036854775807");
  expect(console.lines).toEqual([]);
});

test("the least and the greatest identifier are exact in every address and form", async () => {
  for (const id of [-(2n ** 63n), 2n ** 63n - 1n]) {
    expect((await post("orders", { token, id: `${id}` })).status).toBe(200);
    expect(await page("orders")).toContain(`/orders/${id}"`);
    expect((await post(`orders/${id}/cancel`, { token })).status).toBe(200);
    expect((await console.store.orders.find(id))?.status).toBe("cancelled");
  }
});

test("without the token of the session, no order is placed or changed", async () => {
  await console.store.orders.place([{ record: { id: 1n }, status: "pending" }]);
  for (const path of ["orders", "orders/1/ship", "orders/1/fulfil", "orders/1/cancel", "orders/count"]) {
    expect((await post(path, { id: "2" })).status, path).toBe(403);
    expect((await post(path, { id: "2", token: "x" })).status, path).toBe(403);
  }
  expect(await console.store.orders.find(1n)).toEqual({ record: { id: 1n }, status: "pending" });
  expect(await console.store.orders.find(2n)).toBeUndefined();
});
