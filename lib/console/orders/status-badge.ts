import { html } from "hono/html";
import { isOrderStatus, type OrderStatus } from "../../orders/lifecycle.ts";
import type { Html } from "../section.ts";

const LEVELS: Readonly<Record<OrderStatus, string>> = { pending: "warn", shipped: "good", cancelled: "calm" };

/** The status of an order, also one that no rule knows. */
export function statusBadge(status: OrderStatus): Html {
  return html`<span class="badge ${isOrderStatus(status) ? LEVELS[status] : "bad"}">${status}</span>`;
}
