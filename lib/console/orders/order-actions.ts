import { html } from "hono/html";
import { acceptsEvent, type OrderEvent, type StoredOrder } from "../../orders/lifecycle.ts";
import { changeForm } from "../form.ts";
import { type Html, pathOf, type View } from "../section.ts";

/** The events that an operator can apply, with the labels of their buttons. */
export const EVENT_LABELS = { ship: "Ship", fulfil: "Fulfil", cancel: "Cancel" } as const satisfies Record<
  OrderEvent,
  string
>;

/** Every event, in the order of its button. */
export const EVENTS = Object.keys(EVENT_LABELS) as readonly OrderEvent[];

/** A button for each event that changes the order. `list` is the page of the table to return to. */
export function orderActions(view: View, order: StoredOrder, list?: string): Html {
  const offered = EVENTS.filter((event) => acceptsEvent(order.status, event) && !isDone(order, event));
  return html`<div class="actions">${offered.map((event) => {
    const target = list === undefined ? "" : html`<input type="hidden" name="list" value="${list}">`;
    const label = html`<button aria-label="${EVENT_LABELS[event]} order ${order.record.id}">${EVENT_LABELS[event]}</button>`;
    return changeForm(view, pathOf(view, "orders", `${order.record.id}`, event), html`${target}${label}`);
  })}</div>`;
}

/** Fulfilling a complete order is allowed, and changes nothing. */
function isDone({ record }: StoredOrder, event: OrderEvent): boolean {
  return event === "fulfil" && record.complete === true;
}
