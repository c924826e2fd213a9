import { html } from "hono/html";
import type { Instant } from "../../clock.ts";
import {
  explainTransitionError,
  isOrderStatus,
  type StoredOrder,
  transition,
} from "../../orders/lifecycle.ts";
import { explainUnknownStatus } from "../../orders/stored-order.ts";
import type { Outcome } from "../form.ts";
import { sendPage } from "../page.ts";
import { type ConsoleContext, type ConsoleRequest, type Html, pathOf, type View } from "../section.ts";
import { EVENT_LABELS, EVENTS, eventControl, eventsThatChange } from "./order-actions.ts";
import { formatComplete } from "./order-text.ts";
import { statusBadge } from "./status-badge.ts";

/** Sends the page of one order, with every event: what the state machine allows, and why it does not allow the rest. */
export async function sendOrderPage(
  c: ConsoleRequest,
  { store, clock }: ConsoleContext,
  id: bigint,
  outcome?: Outcome,
): Promise<Response> {
  const view = c.get("view");
  const back = html`<a class="crumb" href="${pathOf(view, "orders")}">← All orders</a>`;
  const order = await store.orders.find(id);
  if (order === undefined) {
    const body = html`<div>${back}<h1>No such order</h1><p>There is no order with the ID ${id}.</p></div>`;
    return sendPage(c, { title: "No such order", body, notice: outcome?.notice, status: 404 });
  }
  const { record, status } = order;
  const body = html`<div>${back}<h1 class="number">Order ${id}</h1></div>
    <div class="columns">
      <section class="panel" aria-labelledby="record-title">
        <h2 id="record-title">Record</h2>
        <dl class="facts number">
          <dt>Status</dt><dd>${statusBadge(status)}</dd>
          <dt>Pet</dt><dd>${record.petId ?? "–"}</dd>
          <dt>Quantity</dt><dd>${record.quantity ?? "–"}</dd>
          <dt>Ship date</dt><dd>${record.shipDate ?? "–"}</dd>
          <dt>Complete</dt><dd>${formatComplete(record)}</dd>
        </dl>
      </section>
      <section class="panel" aria-labelledby="events-title">
        <h2 id="events-title">What can happen next</h2>
        ${isOrderStatus(status) ? eventList(view, order, clock()) : html`<p>Nothing. ${explainUnknownStatus(order)}</p>`}
      </section>
    </div>`;
  return sendPage(c, { title: `Order ${id}`, body, notice: outcome?.notice });
}

/** Every event: a button if it changes the order, otherwise why not. */
function eventList(view: View, order: StoredOrder, at: Instant): Html {
  const changes = eventsThatChange(order, at);
  const items = EVENTS.map((event) => {
    const label = html`${EVENT_LABELS[event]}`;
    if (changes.includes(event))
      return html`<li>${eventControl(view, order.record.id, event, label, html``)}</li>`;
    const result = transition(order, event, at);
    const reason = result.ok ? "This would change nothing." : explainTransitionError(result);
    return html`<li><button type="button" disabled>${label}</button> <span class="quiet small">${reason}</span></li>`;
  });
  return html`<ul class="events">${items}</ul>`;
}
