import { defineOperation } from "../../lib/http/define-operation.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";

export const store = createMemoryStore();

export const statusDefinition = {
  id: "readStatus",
  method: "GET",
  path: "/store/orders/{orderId}/status",
  parameters: { orderId: { description: "The identifier of the order." } },
  tag: "orders",
  summary: "Read the status of an order",
  description: "The status is not part of an order.",
  success: { status: 200, description: "The status.", schema: { type: "string" } },
  errors: ["order_not_found"],
} as const;

export const readStatus = defineOperation({
  ...statusDefinition,
  async handle({ parameters: { orderId } }) {
    const order = await store.orders.find(orderId);
    return order === undefined
      ? { error: "order_not_found" }
      : { status: 200, body: JSON.stringify(order.status) };
  },
});

export const whoAmI = defineOperation({
  id: "whoAmI",
  method: "POST",
  path: "/{region}/callers/{callerId}",
  parameters: { callerId: { description: "Any number." }, region: { description: "Where.", type: "string" } },
  tag: "callers",
  summary: "Read the caller",
  description: "For support.",
  success: { status: 201, description: "The caller." },
  errors: [],
  stability: "experimental",
  handle: async ({ parameters: { region, callerId }, caller, requestId, request }) => ({
    status: 201,
    body: JSON.stringify([region, `${callerId}`, caller.accountId, requestId, request.headers.get("x-a")]),
  }),
});
