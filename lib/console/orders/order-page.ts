import { html } from "hono/html";
import { acceptsEvent, explainTransitionError, transition } from "../../orders/lifecycle.ts";
import { changeForm, type Outcome } from "../form.ts";
import { sendPage } from "../page.ts";
import { type ConsoleContext, type ConsoleRequest, pathOf } from "../section.ts";
import { EVENT_LABELS, EVENTS } from "./order-actions.ts";
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
  const events = EVENTS.map((event) => {
    const result = transition(order, event, clock());
    const reason = result.ok ? "" : html`<span class="quiet small">${explainTransitionError(result)}</span>`;
    const button = html`<button${acceptsEvent(status, event) ? "" : html` disabled`}>${EVENT_LABELS[event]}</button>`;
    return html`<li>${changeForm(view, pathOf(view, "orders", `${id}`, event), button)} ${reason}</li>`;
  });
  const body = html`<div>${back}<h1 class="number">Order ${id}</h1></div>
    <div class="columns">
      <section class="panel" aria-labelledby="record-title">
        <h2 id="record-title">Record</h2>
        <dl class="facts number">
          <dt>Status</dt><dd>${statusBadge(status)}</dd>
          <dt>Pet</dt><dd>${record.petId ?? "–"}</dd>
          <dt>Quantity</dt><dd>${record.quantity ?? "–"}</dd>
          <dt>Ship date</dt><dd>${record.shipDate ?? "–"}</dd>
          <dt>Complete</dt><dd>${record.complete === true ? "yes" : "no"}</dd>
        </dl>
      </section>
      <section class="panel" aria-labelledby="events-title">
        <h2 id="events-title">What can happen next</h2>
        <ul class="events">${events}</ul>
      </section>
    </div>`;
  return sendPage(c, { title: `Order ${id}`, body, notice: outcome?.notice });
}
