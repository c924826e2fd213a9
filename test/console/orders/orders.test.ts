import { beforeEach, expect, test } from "vitest";
import { LIFECYCLE, type OrderStatus } from "../../../lib/orders/lifecycle.ts";
import { useSession } from "../../support/console.ts";

const HTML = `<img src=x onerror="alert(1)">`;

let console: Awaited<ReturnType<typeof useSession>>;
beforeEach(async () => {
  console = await useSession();
});

test.each([
  ["orders/9223372036854775808", 422],
  ["orders?after=9223372036854775808", 422],
  [`orders?after=${encodeURIComponent(HTML)}`, 422],
  ["orders/9223372036854775807", 404],
  ["orders/1/ship", 404],
])("%s gets %d and a readable page", async (path, status) => {
  const response = await console.get(path);
  expect(response.status).toBe(status);
  const text = await response.text();
  expect(text).not.toContain("<img");
  if (status === 422) expect(text).toContain("-9223372036854775808 to 9223372036854775807");
  expect(console.lines).toEqual([]);
});

test("the least and the greatest identifier are exact in every address", async () => {
  for (const id of [-(2n ** 63n), 2n ** 63n - 1n]) {
    await console.store.orders.place([{ record: { id }, status: "pending" }]);
    expect(await console.textOf("orders")).toContain(`/orders/${id}"`);
    expect((await console.post(`orders/${id}/cancel`)).status).toBe(200);
    expect((await console.store.orders.find(id))?.status).toBe("cancelled");
  }
});

test("if someone else was first, the state machine's reason is shown", async () => {
  await console.store.orders.place([{ record: { id: 7n }, status: "shipped" }]);
  const late = await console.post("orders/7/cancel");
  expect(await late.text()).toContain("The order is shipped; only pending orders accept &#39;cancel&#39;.");
  expect((await console.store.orders.find(7n))?.status).toBe("shipped");
});

test("an order with a status that no rule knows is shown with it, without an action and with what to do", async () => {
  await console.store.orders.place([
    { record: { id: 1n }, status: "pending" },
    { record: { id: 2n }, status: "toString" as OrderStatus },
  ]);
  const orders = await console.textOf("orders");
  expect(orders).toContain('<span class="badge bad">toString</span>');
  expect(orders).toContain("/orders/1/ship");
  expect(orders).not.toContain("/orders/2/ship");
  expect(orders).toMatch(/>pending<\/a><\/dt><dd>1<\/dd>/);
  const order = await console.textOf("orders/2");
  expect(order).toContain(
    `Order 2 has the status &#39;toString&#39;, which is not one of ${LIFECYCLE.statuses.join(", ")}. Correct it in the database, or update this version if a newer one has written it.`,
  );
  expect(order).not.toContain("/orders/2/");
});

test.each([
  ["pending", undefined, ["ship", "cancel"]],
  ["shipped", undefined, ["fulfil"]],
  ["shipped", true, []],
  ["cancelled", undefined, []],
] as const)(
  "the page of an order that is %s (complete: %s) has buttons for %j, each of which asks",
  async (status, complete, events) => {
    await console.store.orders.place([{ record: { id: 5n, ...(complete && { complete }) }, status }]);
    const text = await console.textOf("orders/5");
    expect([...text.matchAll(/data-opens="(\w+)-5"/g)].map(([, event]) => event)).toEqual(events);
    expect([...text.matchAll(/action="[^"]*\/orders\/5\/(\w+)"/g)].map(([, event]) => event)).toEqual(events);
    expect(text).not.toContain("disabled");
    expect(text.includes("Nothing more can happen to this order.")).toBe(events.length === 0);
    const isShipped = "Shipped: it can no longer be cancelled. Fulfil marks it as complete.";
    expect(text.includes(isShipped)).toBe(status === "shipped" && events.length > 0);
  },
);

test("the history of an order names the key of each change, and its table says when it was placed", async () => {
  const at = Date.now() - 150_000;
  await console.store.orders.place([{ record: { id: 5n }, status: "pending" }], at, {
    by: "acme.k123456789",
  });
  const page = await console.textOf("orders/5");
  expect(page).toContain("<code>acme.k123456789</code>");
  expect(page).toContain("2 minutes ago</time>");
  expect(await console.textOf("orders")).toContain("2 minutes ago</time>");
});

test("a store without orders says where they come from", async () => {
  const text = await console.textOf("orders");
  expect(text).toContain("The API cannot place orders");
  expect(text).toContain("<code>store-orders orders place</code>");
  expect(await console.textOf("orders?status=pending")).toContain("There are no pending orders.");
});
