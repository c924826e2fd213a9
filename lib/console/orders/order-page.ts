import { html } from "hono/html";
import { errorMessage } from "../../core/errors.ts";
import type { Instant } from "../../core/time.ts";
import type { OrderWithHistory } from "../../orders/history.ts";
import {
  decideEvent,
  explainUnknownStatus,
  LIFECYCLE,
  type OrderEvent,
  type OrderStatus,
  type StoredOrder,
} from "../../orders/lifecycle.ts";
import type { OrderStore } from "../../orders/order-store.ts";
import { DamagedOrderError } from "../../orders/wire.ts";
import { formDialog } from "../form.ts";
import {
  type ConsoleDependencies,
  type ConsoleRequest,
  formatInstant,
  type Html,
  type Notice,
  panel,
  pathOf,
  sendPage,
  table,
  timeOf,
  type View,
} from "../page.ts";

export async function sendOrderPage(
  c: ConsoleRequest,
  { store, clock }: ConsoleDependencies,
  id: bigint,
  notice?: Notice,
): Promise<Response> {
  const view = c.get("view");
  const page = { back: "orders", notice };
  const order = await findOrder(store.orders, id);
  if (order instanceof DamagedOrderError) {
    const problem = html`<p>${errorMessage(order)}</p><p>'store-orders database check' says what to do.</p>`;
    const body = panel("record", "Record", problem);
    return sendPage(c, { ...page, title: `Order ${id} is damaged`, body });
  }
  if (order === undefined) {
    const lead = `There is no order with the ID ${id}.`;
    return sendPage(c, { ...page, title: "No such order", lead, status: 404 });
  }
  const { record, status, history } = order;
  const now = clock();
  const facts = html`<dl class="facts number">
    <dt>Status</dt><dd>${statusBadge(status)}</dd>
    <dt>Placed</dt><dd>${timeOf(placedAt(order), now)}</dd>
    <dt>Pet</dt><dd>${record.petId ?? "–"}</dd>
    <dt>Quantity</dt><dd>${record.quantity ?? "–"}</dd>
    <dt>Ship date</dt><dd>${record.shipDate ?? "–"}</dd>
    <dt>Complete</dt><dd>${record.complete === undefined ? "–" : ["no", "yes"][Number(record.complete)]}</dd>
  </dl>`;
  const isKnown = LIFECYCLE.isStatus(status);
  const isFinished = isKnown && eventsThatChange(order, now).length === 0;
  const changes = history.map(({ event, at, by = "–", requestId = "–" }) => ({
    id: `change-${event}`,
    cells: [
      event,
      html`<time>${formatInstant(at)}</time>`,
      html`<code>${by}</code>`,
      html`<code>${requestId}</code>`,
    ],
  }));
  const shipped = "Shipped: it can no longer be cancelled. Fulfil marks it as complete.";
  const next = isFinished ? "Nothing more can happen to this order." : status === "shipped" ? shipped : "";
  const lead = isKnown ? next : explainUnknownStatus(order);
  const known = table(HISTORY_COLUMNS, changes, "Its changes are not known.");
  const body = html`${panel("record", "Record", facts)} ${panel("history", "History", known, { layout: "flush cards" })}`;
  const actions = orderActions(view, order, now);
  return sendPage(c, { ...page, title: `Order ${id}`, lead, actions, body });
}

/** Finds an order, or what is wrong with one that cannot be read. */
export function findOrder(store: OrderStore, id: bigint) {
  return store.find(id).catch((error: unknown) => {
    if (error instanceof DamagedOrderError) return error;
    throw error;
  });
}

const HISTORY_COLUMNS = [["Change"], ["Time", "number"], ["By"], ["Request"]] as const;

export function placedAt({ history: [first] }: OrderWithHistory): Instant | undefined {
  return first?.event === "place" ? first.at : undefined;
}

const LEVELS: Readonly<Record<OrderStatus, string>> = { pending: "warn", shipped: "good", cancelled: "calm" };

export function statusBadge(status: OrderStatus): Html {
  return html`<span class="badge ${LIFECYCLE.isStatus(status) ? LEVELS[status] : "bad"}">${status}</span>`;
}

const EVENT_TEXTS: Readonly<Record<OrderEvent, readonly [label: string, confirm: string, effect: string]>> = {
  ship: ["Ship", "Ship order", "A shipped order stays shipped: it can no longer be cancelled."],
  fulfil: ["Fulfil", "Mark as complete", "This marks the order as complete, for good. It stays shipped."],
  cancel: ["Cancel", "Cancel order", "A cancelled order stays cancelled: it can no longer be shipped."],
};

export const EVENTS = Object.keys(EVENT_TEXTS) as readonly OrderEvent[];

/** The events that change an order, as the state machine decides. A complete order can be fulfilled, but is the same. */
export function eventsThatChange(order: StoredOrder, at: Instant): readonly OrderEvent[] {
  if (!LIFECYCLE.isStatus(order.status)) return [];
  return EVENTS.filter((event) => decideEvent(order, event, at).changed !== undefined);
}

/** A button for each event that changes the order, which asks once: no event can be undone. */
export function orderActions(view: View, order: StoredOrder, at: Instant): Html {
  const { id } = order.record;
  const controls = eventsThatChange(order, at).map((event) => {
    const [label, confirm, effect] = EVENT_TEXTS[event];
    return formDialog(view, pathOf(view, "orders", `${id}`, event), {
      ...{ id: `${event}-${id}`, title: `${label} order ${id}?`, confirm, isDanger: event === "cancel" },
      opener: html`${label}<span class="sr"> order ${id}</span>…`,
      fields: html`<p>${effect}</p>`,
    });
  });
  return html`${controls}`;
}
