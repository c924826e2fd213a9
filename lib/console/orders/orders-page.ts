import { html } from "hono/html";
import { parseInt64 } from "../../orders/int64.ts";
import type { StoredOrder } from "../../orders/lifecycle.ts";
import type { OrderStore } from "../../orders/order-store.ts";
import { changeForm, fieldOf, type Outcome } from "../form.ts";
import { sendPage } from "../page.ts";
import { type PageStarts, pager, startsField } from "../pager.ts";
import { type ConsoleContext, type ConsoleRequest, type Html, pathOf, type View } from "../section.ts";
import { countsPanel } from "./counts-panel.ts";
import { orderActions } from "./order-actions.ts";
import { formatComplete } from "./order-text.ts";
import { placeFields } from "./place-fields.ts";
import { statusBadge } from "./status-badge.ts";
import type { StatusCounter } from "./status-counter.ts";

/** The orders of one page of the table. */
const PAGE_SIZE = 50;

/** Sends one page of the table of orders. */
export async function sendOrdersPage(
  c: ConsoleRequest,
  { store, clock, isMetered }: ConsoleContext,
  counter: StatusCounter,
  starts: PageStarts,
  outcome?: Outcome,
): Promise<Response> {
  const view = c.get("view");
  const after = parseInt64(starts.at(-1) ?? "");
  // One more, to know whether there are more.
  const orders = await readOrders(store.orders, after, PAGE_SIZE + 1);
  if (!isMetered) await counter.refresh();
  const shown = orders.slice(0, PAGE_SIZE);
  const next = orders.length > PAGE_SIZE ? shown.at(-1)?.record.id : undefined;
  const list = startsField(starts);
  const rows = shown.map((order) => orderRow(view, order, orderActions(view, order, clock(), list)));
  const body = html`<div class="head">
      <div><h1>Orders</h1><p>Ascending by ID, ${PAGE_SIZE} on a page.</p></div>
      <form class="form row" method="get" action="${pathOf(view, "find-order")}">
        ${fieldOf("find", { name: "id", label: "Order ID", inputMode: "numeric" }, outcome)}
        <button>Find</button>
      </form>
    </div>
    ${countsPanel(view, counter, isMetered, list)}
    <section class="panel flush" aria-label="${after === undefined ? "The first orders" : `Orders after ${after}`}">
      ${rows.length === 0 ? html`<p class="empty">There are no ${after === undefined ? "" : "more "}orders.</p>` : table(rows)}
      ${pager(pathOf(view, "orders"), starts, next?.toString())}
    </section>
    <section class="panel" aria-labelledby="place-title">
      <h2 id="place-title">Place an order</h2>
      ${changeForm(view, pathOf(view, "orders"), html`${list}${placeFields(outcome)}`, "form")}
    </section>
    ${isMetered ? POLLING_COST : ""}`;
  return sendPage(c, { title: "Orders", body, notice: outcome?.notice });
}

const POLLING_COST = html`<p class="quiet small">While this page is visible, it reads its ${PAGE_SIZE} orders again every
  1.5 seconds: about two read units of DynamoDB for each bucket.</p>`;

async function readOrders(
  store: OrderStore,
  after: bigint | undefined,
  limit: number,
): Promise<StoredOrder[]> {
  const found: StoredOrder[] = [];
  for await (const page of store.scan(after, limit)) {
    found.push(...page.slice(0, limit - found.length));
    if (found.length === limit) break;
  }
  return found;
}

function table(rows: readonly Html[]): Html {
  return html`<table class="even">
    <thead><tr>
      <th scope="col">Order</th><th scope="col">Status</th><th scope="col">Pet</th><th scope="col" class="right">Quantity</th>
      <th scope="col">Ship date</th><th scope="col">Complete</th><th scope="col"><span class="sr">Actions</span></th>
    </tr></thead>
    <tbody>${rows}</tbody>
  </table>`;
}

function orderRow(view: View, { record, status }: StoredOrder, actions: Html): Html {
  const { id, petId, quantity, shipDate } = record;
  return html`<tr id="order-${id}">
    <th scope="row" class="number"><a href="${pathOf(view, "orders", `${id}`)}">${id}</a></th>
    <td data-label="Status">${statusBadge(status)}</td>
    <td data-label="Pet" class="number">${petId ?? "–"}</td>
    <td data-label="Quantity" class="right number">${quantity ?? "–"}</td>
    <td data-label="Ship date" class="number">${shipDate ?? "–"}</td>
    <td data-label="Complete">${formatComplete(record)}</td>
    <td>${actions}</td>
  </tr>`;
}
