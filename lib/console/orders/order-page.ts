/** One order of the console: its page, its status, its events, and the form that places it. */
import { html } from "hono/html";
import { errorMessage } from "../../core/errors.ts";
import type { Instant } from "../../core/time.ts";
import { parseInt64 } from "../../orders/int64.ts";
import {
  explainTransitionError,
  explainUnknownStatus,
  isOrderStatus,
  type OrderEvent,
  type OrderStatus,
  type StoredOrder,
  transition,
} from "../../orders/lifecycle.ts";
import { ORDER_FIELDS, type OrderRecord } from "../../orders/order.ts";
import type { NewOrder, Orders } from "../../orders/orders.ts";
import { DamagedOrderError, toLine } from "../../orders/wire.ts";
import { changeForm, dialogButton, type FormResult, fieldOf } from "../form.ts";
import {
  backLink,
  type ConsoleDependencies,
  type ConsoleRequest,
  type Html,
  type Notice,
  panel,
  pathOf,
  sendMissing,
  sendPage,
  table,
  type View,
} from "../page.ts";

/** Sends the page of one order, with every event. One that the state machine does not allow has the reason. */
export async function sendOrderPage(
  c: ConsoleRequest,
  { store, clock }: ConsoleDependencies,
  id: bigint,
  result?: FormResult,
): Promise<Response> {
  const view = c.get("view");
  const back = backLink(view, "orders");
  const order = await store.orders.find(id).catch((error: unknown) => {
    if (error instanceof DamagedOrderError) return error;
    throw error;
  });
  if (order instanceof DamagedOrderError) {
    const problem = html`<p>${errorMessage(order)}</p><p>'store-orders database check' says what to do.</p>`;
    const body = html`<div>${back}<h1 class="number">Order ${id} is damaged</h1></div>${panel("record", "Record", problem)}`;
    return sendPage(c, { title: `Order ${id}`, body, notice: result?.notice });
  }
  if (order === undefined) {
    const message = html`There is no order with the ID ${id}.`;
    return sendMissing(c, "order", { back, message, notice: result?.notice });
  }
  const { record, status } = order;
  const facts = html`<dl class="facts number">
    <dt>Status</dt><dd>${statusBadge(status)}</dd>
    <dt>Pet</dt><dd>${record.petId ?? "–"}</dd>
    <dt>Quantity</dt><dd>${record.quantity ?? "–"}</dd>
    <dt>Ship date</dt><dd>${record.shipDate ?? "–"}</dd>
    <dt>Complete</dt><dd>${formatComplete(record)}</dd>
  </dl>`;
  const events = isOrderStatus(status)
    ? eventList(view, order, clock())
    : html`<p>Nothing. ${explainUnknownStatus(order)}</p>`;
  const history = order.history.map(({ event, at, by = "–", requestId = "–" }) => ({
    id: `change-${event}`,
    cells: [event, new Date(at).toISOString(), html`<code>${by}</code>`, html`<code>${requestId}</code>`],
  }));
  const body = html`<div>${back}<h1 class="number">Order ${id}</h1></div>
    <div class="columns">
      ${panel("record", "Record", facts)}
      ${panel("events", "What can happen next", events)}
    </div>
    ${panel("history", "History", table(HISTORY_COLUMNS, history, "Its changes are not known."))}`;
  return sendPage(c, { title: `Order ${id}`, body, notice: result?.notice });
}

const HISTORY_COLUMNS = [["Change"], ["Time"], ["By"], ["Request"]] as const;

/** Every event: a button if it changes the order, otherwise the reason why it does not. */
function eventList(view: View, order: StoredOrder, at: Instant): Html {
  const changes = eventsThatChange(order, at);
  const items = EVENTS.map((event) => {
    const label = html`${EVENT_LABELS[event]}`;
    if (changes.includes(event))
      return html`<li>${eventControl(view, order.record.id, event, label, html``)}</li>`;
    const refused = transition(order, event, at);
    const reason = refused.ok ? "This would change nothing." : explainTransitionError(refused);
    return html`<li><button type="button" disabled>${label}</button> <span class="quiet small">${reason}</span></li>`;
  });
  return html`<ul class="events">${items}</ul>`;
}

const LEVELS: Readonly<Record<OrderStatus, string>> = { pending: "warn", shipped: "good", cancelled: "calm" };

/** The status of an order, also one that no rule knows. */
export function statusBadge(status: OrderStatus): Html {
  return html`<span class="badge ${isOrderStatus(status) ? LEVELS[status] : "bad"}">${status}</span>`;
}

/** `complete` for people. A field that the record does not have is a dash, like every other one. */
export function formatComplete({ complete }: OrderRecord): string {
  if (complete === undefined) return "–";
  return complete ? "yes" : "no";
}

/** The events that an operator can apply, with the labels of their buttons. */
const EVENT_LABELS: Readonly<Record<OrderEvent, string>> = {
  ship: "Ship",
  fulfil: "Fulfil",
  cancel: "Cancel",
};

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
  const controls = eventsThatChange(order, at).map((event) => {
    const label = html`${EVENT_LABELS[event]}<span class="sr"> order ${id}</span>`;
    return eventControl(view, id, event, label, list);
  });
  return html`${controls}`;
}

/** The button of an event. A cancel cannot be undone, and is not the usual event: it asks for confirmation. */
function eventControl(view: View, id: bigint, event: OrderEvent, label: Html, list: Html): Html {
  const action = pathOf(view, "orders", `${id}`, event);
  if (event !== "cancel") return changeForm(view, action, html`${list}<button>${label}</button>`);
  const confirmation = html`${list}<p>A cancelled order stays cancelled: it can no longer be shipped.</p>
    <div class="actions">
      <button class="danger">Cancel order</button> <button type="button" data-close>Keep it</button>
    </div>`;
  const form = changeForm(view, action, confirmation);
  return dialogButton(`cancel-${id}`, html`${label}…`, `Cancel order ${id}?`, form);
}

/** The fields of the form that places an order: all five of a record, each optional. */
export function placeFields(result: FormResult | undefined): Html {
  const integer = (name: "id" | "petId" | "quantity", label: string, hint: string) =>
    fieldOf("place", { name, label, hint, inputMode: "numeric" }, result);
  const shipDate = `Optional, such as ${ORDER_FIELDS.shipDate.example}.`;
  return html`<div class="columns">
      ${integer("id", "ID", "Optional: a new one is chosen.")}
      ${integer("petId", "Pet ID", "Optional.")}
      ${integer("quantity", "Quantity", "Optional.")}
      ${fieldOf("place", { name: "shipDate", label: "Expected ship date", hint: shipDate }, result)}
      ${fieldOf("place", { name: "complete", label: "Complete", hint: "Optional.", options: COMPLETE }, result)}
    </div>
    <div><button class="main">Place order</button></div>`;
}

const COMPLETE = [
  ["", "not given"],
  ["false", "no"],
] as const;

/** Places the order of a form. Rejects with every issue if a field is invalid. */
export async function placeOrder(orders: Orders, view: View): Promise<Notice> {
  const result = await orders.place(readOrder(view.fields));
  if (!result.ok) {
    const message = `Order ${result.id} already exists with different content; it was not changed.`;
    return { kind: "failure", message };
  }
  const { id } = result.record;
  const link = html`<a href="${pathOf(view, "orders", `${id}`)}">Order ${id}</a>`;
  const message = result.created
    ? html`${link} has been placed.`
    : html`${link} already exists with the same content.`;
  return { kind: "success", message };
}

/** Reads the fields of an order. Empty ones are missing. Unreadable ones stay strings, which the validation rejects. */
export function readOrder(fields: Readonly<Record<string, string>>): NewOrder {
  const entries = Object.entries(FIELD_READERS).flatMap(([name, read]) => {
    const text = (fields[name] ?? "").trim();
    return text === "" ? [] : [[name, read(text) ?? text]];
  });
  return Object.fromEntries(entries) as NewOrder;
}

const FIELD_READERS: Readonly<Record<keyof OrderRecord, (text: string) => unknown>> = {
  id: parseInt64,
  petId: parseInt64,
  quantity: (text) => (parseInt64(text) === undefined ? undefined : Number(text)),
  shipDate: (text) => text,
  complete: (text) => (text === "true" || text === "false" ? text === "true" : undefined),
};
