import { html } from "hono/html";
import type { OrderStatus } from "../../orders/lifecycle.ts";
import type { Html } from "../section.ts";

const LEVELS: Readonly<Record<OrderStatus, string>> = { pending: "warn", shipped: "good", cancelled: "calm" };

/** The status of an order. */
export function statusBadge(status: OrderStatus): Html {
  return html`<span class="badge ${LEVELS[status]}">${status}</span>`;
}
