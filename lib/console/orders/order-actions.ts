import { html } from "hono/html";
import type { Instant } from "../../clock.ts";
import { isOrderStatus, type OrderEvent, type StoredOrder, transition } from "../../orders/lifecycle.ts";
import { toLine } from "../../orders/wire.ts";
import { changeForm, dialogButton } from "../form.ts";
import { type Html, pathOf, type View } from "../section.ts";

/** The events that an operator can apply, with the labels of their buttons. */
export const EVENT_LABELS = { ship: "Ship", fulfil: "Fulfil", cancel: "Cancel" } as const satisfies Record<
  OrderEvent,
  string
>;

/** Every event, in the order of its button. */
export const EVENTS = Object.keys(EVENT_LABELS) as readonly OrderEvent[];

/** The events that change an order, as the state machine decides. A complete order can be fulfilled, but is the same. */
export function eventsThatChange(order: StoredOrder, at: Instant): readonly OrderEvent[] {
  if (!isOrderStatus(order.status)) return [];
  return EVENTS.filter((event) => {
    const result = transition(order, event, at);
    return result.ok && toLine(result.order) !== toLine(order);
  });
}

/** A button for each event that changes the order. `list` are the fields that name the page of the table. */
export function orderActions(view: View, order: StoredOrder, at: Instant, list: Html): Html {
  const { id } = order.record;
  return html`<div class="actions">${eventsThatChange(order, at).map((event) => {
    const label = html`${EVENT_LABELS[event]}<span class="sr"> order ${id}</span>`;
    return eventControl(view, id, event, label, list);
  })}</div>`;
}

/** The button of an event. A cancel cannot be undone, and is not what usually happens: it asks for confirmation. */
export function eventControl(view: View, id: bigint, event: OrderEvent, label: Html, list: Html): Html {
  const action = pathOf(view, "orders", `${id}`, event);
  if (event !== "cancel") return changeForm(view, action, html`${list}<button>${label}</button>`);
  const confirmation = html`${list}<p>A cancelled order stays cancelled: it can no longer be shipped.</p>
    <div class="actions">
      <button class="danger">Cancel order</button> <button type="button" data-close>Keep it</button>
    </div>`;
  const form = changeForm(view, action, confirmation);
  return dialogButton(`cancel-${id}`, html`${label}…`, `Cancel order ${id}?`, form);
}
