import { createOrders, orderSchema } from "store-orders";
import { defineOperation } from "store-orders/http";
import { orderJsonSchema, orderToJson } from "store-orders/orders";

/** An order is complete once it was delivered, which a new one was not. */
const newOrderSchema = orderSchema.refine(({ complete }) => !complete, {
  path: ["complete"],
  message: "A new order is not complete.",
});

/** Places an order. It can be repeated: the same order under the same `id` is placed once, and gets the same response. */
export const placeOrder = defineOperation({
  id: "placeOrder",
  method: "POST",
  path: "/store/orders",
  tag: "orders",
  summary: "Place an order",
  description:
    "The order is pending. To repeat the request is safe until it changes: its `id` identifies it.",
  body: newOrderSchema,
  jsonSchemas: { body: orderJsonSchema },
  maxBodyBytes: 4096,
  success: { status: 201, description: "Order placed.", schema: orderJsonSchema },
  errors: [],
  ownErrors: {
    order_conflict: { status: 409, message: "The identifier is that of another or a changed order." },
  },
  async handle({ body, caller, orders }) {
    const placed = await createOrders({ store: orders, by: caller.keyId }).place(body);
    if (!placed.ok) return { error: placed.code };
    // Relative to the path of the request, so that it is right below any base path.
    return {
      status: 201,
      headers: { location: `orders/${placed.record.id}` },
      body: orderToJson(placed.record),
    };
  },
});

/** Reads an order: what the `Location` of a placed one leads to. */
export const readOrder = defineOperation({
  id: "readOrder",
  method: "GET",
  path: "/store/orders/{orderId}",
  parameters: { orderId: { description: "The identifier of the order." } },
  tag: "orders",
  summary: "Read an order",
  description: "Its status is not part of it.",
  success: { status: 200, description: "The order.", schema: orderJsonSchema },
  errors: ["order_not_found"],
  async handle({ parameters: { orderId }, orders }) {
    const order = await orders.find(orderId);
    return order ? { status: 200, body: orderToJson(order.record) } : { error: "order_not_found" };
  },
});
