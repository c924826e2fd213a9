import { html } from "hono/html";
import type { StoredOrder } from "../../orders/lifecycle.ts";
import type { OrderStore } from "../../orders/order-store.ts";
import { changeForm, fieldOf, type Outcome } from "../form.ts";
import { sendPage } from "../page.ts";
import { type ConsoleContext, type ConsoleRequest, type Html, pathOf, type View } from "../section.ts";
import { countsPanel } from "./counts-panel.ts";
import { orderActions } from "./order-actions.ts";
import { statusBadge } from "./status-badge.ts";
import type { StatusCounter } from "./status-counter.ts";

/** The orders of one page of the table. */
const PAGE_SIZE = 50;

/** Sends one page of the table of orders: those above `after`. */
export async function sendOrdersPage(
  c: ConsoleRequest,
  { store, isMetered }: ConsoleContext,
  counter: StatusCounter,
  after: bigint | undefined,
  outcome?: Outcome,
): Promise<Response> {
  const view = c.get("view");
  // One more, to know whether there are more.
  const orders = await readOrders(store.orders, after, PAGE_SIZE + 1);
  if (!isMetered) await counter.refresh();
  const shown = orders.slice(0, PAGE_SIZE);
  const next = orders.length > PAGE_SIZE ? shown.at(-1)?.record.id : undefined;
  const body = html`<div class="head">
      <div><h1>Orders</h1><p>Ascending by ID, ${PAGE_SIZE} on a page.</p></div>
      <form class="form row" method="get" action="${pathOf(view, "find-order")}">
        ${fieldOf("find", { name: "id", label: "Order ID", inputMode: "numeric" }, outcome)}
        <button>Find</button>
      </form>
    </div>
    ${countsPanel(view, counter, isMetered)}
    <section class="panel flush" aria-label="${after === undefined ? "The first orders" : `Orders after ${after}`}">
      ${shown.length === 0 ? html`<p class="empty">There are no ${after === undefined ? "" : "more "}orders.</p>` : table(view, shown, after)}
      ${pager(view, after, next)}
    </section>
    <section class="panel" aria-labelledby="place-title">
      <h2 id="place-title">Place an order</h2>
      ${changeForm(view, pathOf(view, "orders"), placeFields(outcome), "form")}
    </section>
    ${
      isMetered
        ? html`<p class="quiet small">This page does not update itself: each time it reads up to 500 orders of every
      bucket, which DynamoDB charges for. Reload it to see changes by others.</p>`
        : ""
    }`;
  return sendPage(c, { title: "Orders", body, notice: outcome?.notice, live: !isMetered });
}

async function readOrders(
  store: OrderStore,
  after: bigint | undefined,
  limit: number,
): Promise<StoredOrder[]> {
  const found: StoredOrder[] = [];
  for await (const page of store.scan(after)) {
    found.push(...page.slice(0, limit - found.length));
    if (found.length === limit) break;
  }
  return found;
}

function table(view: View, orders: readonly StoredOrder[], after: bigint | undefined): Html {
  return html`<table>
    <thead><tr>
      <th scope="col">Order</th><th scope="col">Status</th><th scope="col">Pet</th><th scope="col" class="right">Quantity</th>
      <th scope="col">Ship date</th><th scope="col">Complete</th><th scope="col"><span class="sr">Actions</span></th>
    </tr></thead>
    <tbody>${orders.map((order) => orderRow(view, order, after))}</tbody>
  </table>`;
}

function orderRow(view: View, order: StoredOrder, after: bigint | undefined): Html {
  const { id, petId, quantity, shipDate, complete } = order.record;
  return html`<tr id="order-${id}">
    <th scope="row" class="number"><a href="${pathOf(view, "orders", `${id}`)}">${id}</a></th>
    <td data-label="Status">${statusBadge(order.status)}</td>
    <td data-label="Pet" class="number">${petId ?? "–"}</td>
    <td data-label="Quantity" class="right number">${quantity ?? "–"}</td>
    <td data-label="Ship date" class="number">${shipDate ?? "–"}</td>
    <td data-label="Complete">${complete === true ? "yes" : "no"}</td>
    <td>${orderActions(view, order, `${after ?? ""}`)}</td>
  </tr>`;
}

function pager(view: View, after: bigint | undefined, next: bigint | undefined): Html {
  const orders = pathOf(view, "orders");
  if (after === undefined && next === undefined) return html``;
  return html`<nav class="pager actions" aria-label="Pages">
    ${after === undefined ? "" : html`<a class="button" href="${orders}">First page</a>`}
    ${next === undefined ? "" : html`<a class="button" href="${orders}?after=${next}">Next page</a>`}
  </nav>`;
}

function placeFields(outcome: Outcome | undefined): Html {
  const field = (name: string, label: string, hint: string) =>
    fieldOf(
      "place",
      { name, label, hint, ...(name === "shipDate" ? {} : { inputMode: "numeric" }) },
      outcome,
    );
  return html`<div class="columns">
      ${field("id", "ID", "Optional: a new one is chosen.")}
      ${field("petId", "Pet ID", "Optional.")}
      ${field("quantity", "Quantity", "Optional.")}
      ${field("shipDate", "Expected ship date", "Optional; such as 2026-12-01T09:00:00Z.")}
    </div>
    <div><button class="main">Place order</button></div>`;
}
