/** The API of the shop: the keys, limits, bans and documents of store-orders over orders of its own. */
import { conflictsOf, defineOperation } from "store-orders/http";
import * as z from "zod";
import { lifecycle } from "./lifecycle.ts";
import { apply, ordersOf, place } from "./orders.ts";

export const placeOrder = defineOperation({
  id: "placeOrder",
  method: "POST",
  path: "/orders",
  tag: "orders",
  summary: "Place an order",
  description: "Of the account whose key is used.",
  body: z.object({ items: z.array(z.string()).min(1) }),
  success: { status: 201, description: "Placed.", schema: { type: "object" } },
  errors: [],
  async handle({ body, caller }) {
    const order = await place(caller.accountId, body.items);
    return { status: 201, headers: { location: `orders/${order.id}` }, body: JSON.stringify(order) };
  },
});

export const listOwnOrders = defineOperation({
  id: "listOwnOrders",
  method: "GET",
  path: "/orders",
  tag: "orders",
  summary: "List the orders of the account",
  description: "Those of other accounts are not visible.",
  success: { status: 200, description: "The orders.", schema: { type: "array" } },
  errors: [],
  handle: async ({ caller }) => ({ status: 200, body: JSON.stringify(await ordersOf(caller.accountId)) }),
});

export const cancelOwnOrder = defineOperation({
  id: "cancelOwnOrder",
  method: "DELETE",
  path: "/orders/{orderId}",
  parameters: { orderId: { description: "The UUID of the order.", type: "string" } },
  tag: "orders",
  summary: "Cancel an order",
  description: "Until it is packed.",
  success: { status: 204, description: "Cancelled." },
  errors: ["order_not_found"],
  ownErrors: conflictsOf(lifecycle.errorsOf("cancel")),
  async handle({ caller, parameters: { orderId } }) {
    if (!z.uuid().safeParse(orderId).success) return { error: "order_not_found" };
    const result = await apply(caller.accountId, orderId, "cancel");
    return result.ok ? { status: 204 } : { error: result.code };
  },
});
