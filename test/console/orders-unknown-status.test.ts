import { expect, test } from "vitest";
import type { OrderStatus } from "../../lib/orders/lifecycle.ts";
import { signIn, useConsole } from "../support/console.ts";

test("an order with a status that no rule knows is shown with it, without an action and with what to do", async () => {
  const console = await useConsole();
  const cookie = await signIn(console);
  const page = async (path: string) => {
    const response = await fetch(console.at(path), { headers: { cookie } });
    expect(response.status, path).toBe(200);
    return response.text();
  };
  await console.store.orders.place([
    { record: { id: 1n }, status: "pending" },
    { record: { id: 2n }, status: "toString" as OrderStatus },
  ]);
  const orders = await page("orders");
  expect(orders).toContain('<span class="badge bad">toString</span>');
  expect(orders).toContain("/orders/1/ship");
  expect(orders).not.toContain("/orders/2/ship");
  expect(orders).toContain("<div><dt>unknown</dt><dd>1</dd></div>");
  expect(orders).toContain("<div><dt>pending</dt><dd>1</dd></div>");
  const order = await page("orders/2");
  expect(order).toContain(
    "Order 2 has the status &#39;toString&#39;, which is none of pending, shipped, cancelled. Correct it in the database.",
  );
  expect(order).not.toContain("/orders/2/");
});
