import { html } from "hono/html";
import { InvalidInputError } from "../../core/errors.ts";
import { formatCount } from "../../core/text.ts";
import type { Instant } from "../../core/time.ts";
import { parseInt64 } from "../../orders/int64.ts";
import type { OrderStatus, StoredOrder } from "../../orders/lifecycle.ts";
import { ORDER_FIELDS } from "../../orders/order.ts";
import { orderQueryIssues } from "../../orders/order-query.ts";
import type { OrderStore, OutboxBacklog } from "../../orders/order-store.ts";
import { MAX_CLOCK_SKEW_MS, MINUTE_MS } from "../../plans/windows.ts";
import {
  type ConsoleDependencies,
  type ConsoleRequest,
  costOf,
  type Html,
  itemLink,
  linkRow,
  type Notice,
  panel,
  pathOf,
  sendPage,
  table,
  timeOf,
  withQuery,
} from "../page.ts";
import { countsPanel, type OrderCounter } from "./order-counts.ts";
import { findOrder, orderActions, placedAt, statusBadge } from "./order-page.ts";

export interface OrderTable {
  readonly status?: OrderStatus | undefined;
  readonly sort: "highest" | "lowest";
  /** `after`: the page behind `id`, or the first one. `before`: the page in front of `id`, or the last one. */
  readonly side: "after" | "before";
  readonly id?: bigint | undefined;
}

export const FIRST_TABLE: OrderTable = { sort: "highest", side: "after" };

/** Reads a query string that `formatTable` wrote. Throws `InvalidInputError` if it is something else. */
export function parseTable(query: string): OrderTable {
  const params = new URLSearchParams(query);
  const [status, sort = "highest"] = [params.get("status") ?? undefined, params.get("sort") ?? undefined];
  const side = params.has("before") ? "before" : "after";
  const text = params.get(side) ?? "";
  const id = parseInt64(text);
  const issues = orderQueryIssues({ status, limit: PAGE_SIZE });
  if (sort !== "highest" && sort !== "lowest")
    issues.push({ path: "sort", message: "Use one of: highest, lowest." });
  if (text !== "" && id === undefined)
    issues.push({ path: "id", message: ORDER_FIELDS.id.validate(text) ?? "" });
  if (issues.length > 0) throw new InvalidInputError(issues);
  return { status: status as OrderStatus | undefined, sort: sort as OrderTable["sort"], side, id };
}

export function formatTable({ status, sort, side, id }: OrderTable): string {
  const params = new URLSearchParams();
  if (status !== undefined) params.set("status", status);
  if (sort !== "highest") params.set("sort", sort);
  if (side === "before" || id !== undefined) params.set(side, `${id ?? ""}`);
  return `${params}`;
}

const PAGE_SIZE = 50;

/** The most calls of the store for one page: where it has no index of a status, each reads many orders to find few. */
const MAX_CALLS = 4;

interface TablePage {
  readonly rows: readonly TableRow[];
  readonly previous?: OrderTable | undefined;
  readonly next?: OrderTable | undefined;
}

/** The order is missing if it cannot be read. */
type TableRow = { readonly id: bigint; readonly order?: StoredOrder };

async function readTable(store: OrderStore, table: OrderTable): Promise<TablePage> {
  const { status, sort, side, id } = table;
  const order = (sort === "lowest") === (side === "after") ? "asc" : "desc";
  const rows: TableRow[] = [];
  let end = id;
  for (let calls = 0; calls < MAX_CALLS && rows.length < PAGE_SIZE; calls++) {
    const page = await store.page({ after: end, status, order, limit: PAGE_SIZE - rows.length });
    rows.push(...page.orders.map((each) => ({ id: each.record.id, order: each })), ...(page.damaged ?? []));
    end = page.next;
    if (end === undefined) break;
  }
  // Nothing is in front of these orders: they are on the first page, which may hold more of them.
  if (side === "before" && id !== undefined && end === undefined)
    return readTable(store, { ...table, side: "after", id: undefined });
  rows.sort((a, b) => ((sort === "lowest") === a.id < b.id ? -1 : 1));
  const at = (beyond: OrderTable["side"], from: bigint | undefined) =>
    from === undefined ? undefined : { ...table, side: beyond, id: from };
  const [first, last] = [rows.at(0)?.id, rows.at(-1)?.id];
  const isEdge = id === undefined;
  // Others have changed every order of this page, such as the last one of a queue.
  if (rows.length === 0 && !isEdge && end === undefined)
    return { rows, previous: { ...table, side: "before", id: undefined } };
  return side === "after"
    ? { rows, previous: isEdge ? undefined : at("before", first), next: at("after", end) }
    : { rows, previous: at("before", end), next: isEdge ? undefined : at("after", last) };
}

const MAX_PLACINGS = 1_000;

/** Reads when orders were placed. Only the history has it, which is read once: it never changes. */
export function createPlacings(store: OrderStore) {
  const known = new Map<bigint, Instant | undefined>();
  return async (ids: readonly bigint[]): Promise<ReadonlyMap<bigint, Instant | undefined>> => {
    if (known.size > MAX_PLACINGS) known.clear();
    const read = async (id: bigint) => {
      const order = await findOrder(store, id);
      if (order !== undefined && !(order instanceof Error)) known.set(id, placedAt(order));
    };
    await Promise.all(ids.filter((id) => !known.has(id)).map(read));
    return known;
  };
}

export interface OrdersContext extends ConsoleDependencies {
  readonly counter: OrderCounter;
  readonly placings: ReturnType<typeof createPlacings>;
}

export async function sendOrdersPage(
  c: ConsoleRequest,
  { store, clock, isMetered, counter, placings }: OrdersContext,
  shown: OrderTable,
  notice?: Notice,
): Promise<Response> {
  const view = { ...c.get("view"), list: formatTable(shown) };
  const page = await readTable(store.orders, shown);
  const placed = await placings(page.rows.map((row) => row.id));
  if (!isMetered) await counter.refresh();
  const backlog = isMetered ? undefined : await store.outbox?.backlog();
  const now = clock();
  const { next, previous } = page;
  const { status, sort, side, id } = shown;
  const linkTo = (to: OrderTable, ...path: readonly string[]) =>
    withQuery(pathOf(view, "orders", ...path), formatTable(to));
  const rows = page.rows.map(({ id: orderId, order }) => {
    const link = itemLink(view, "orders", `${orderId}`);
    const placing = timeOf(placed.get(orderId), now);
    if (order === undefined)
      return { id: `order-${orderId}`, cells: [link, DAMAGED, placing, "–", "–", "–", ""] };
    const { record, status: own } = order;
    const { petId = "–", quantity = "–", shipDate = "–" } = record;
    const state = html`${statusBadge(own)}${record.complete === true ? html` <span class="quiet small wide">complete</span>` : ""}`;
    const day = html`<span title="${shipDate}">${/^\d{4}-\d\d-\d\d(?=T)/.exec(shipDate)?.[0] ?? shipDate}</span>`;
    const cells = [link, state, placing, petId, quantity, day, orderActions(view, order, now)];
    return { id: `order-${orderId}`, cells };
  });
  const isFirst = side === "after" && id === undefined;
  const isLast = next === undefined || (side === "before" && id === undefined);
  const edge = (beyond: OrderTable["side"]) => linkTo({ status, sort, side: beyond });
  const pages = linkRow("Pages", [
    ["First page", isFirst ? undefined : edge("after")],
    ["Previous page", previous && linkTo(previous)],
    ["Next page", next && linkTo(next)],
    ["Last page", isLast ? undefined : edge("before")],
  ]);
  const sorts = (["highest", "lowest"] as const).map(
    (each) => [SORTS[each], linkTo({ ...FIRST_TABLE, status, sort: each }), each === sort] as const,
  );
  const count = counter.of(status);
  const exported = `${count === undefined ? "" : `${formatCount(count)} `}${count === 1 ? "order" : "orders"}`;
  const tools = html`${linkRow("Order of the table", sorts)}
    <a class="button" href="${linkTo({ status, sort, side: "after" }, "export")}" download>Export ${exported} (NDJSON)</a>`;
  const content = html`${table(COLUMNS, rows, explainEmpty(shown, next !== undefined))} ${pages}`;
  const body = html`${countsPanel(counter, (of) => linkTo({ ...FIRST_TABLE, sort, status: of }), status)}
    ${backlog && isLate(backlog, now) ? backlogPanel(backlog) : ""}
    ${panel("table", titleOf(shown), content, { layout: "flush", actions: tools })}
    ${isMetered ? costOf("its orders") : ""}`;
  const lead = "Shipping and cancelling cannot be undone.";
  return sendPage(c, { title: "Orders", lead, body, notice });
}

const SORTS = { highest: "Highest ID first", lowest: "Lowest ID first" } as const;

const DAMAGED = html`<span class="badge bad">damaged</span>`;

const COLUMNS = [
  ["Order", "number"],
  ["Status"],
  ["Placed", "rest"],
  ["Pet", "number wide"],
  ["Quantity", "right number wide"],
  ["Ship date", "number wide"],
  ["Actions"],
] as const;

function explainEmpty({ status, id }: OrderTable, hasMore: boolean): string | Html {
  if (hasMore) return "No such orders among those that were read for this page. The next page may have some.";
  if (status !== undefined || id !== undefined)
    return `There are no ${id === undefined ? "" : "more "}${status === undefined ? "" : `${status} `}orders.`;
  return html`No order has been placed yet. The API cannot place orders: your program does, or
    <code>store-orders orders place</code>, or <code>store-orders orders import FILE</code>.`;
}

function titleOf({ status, side, id }: OrderTable): string {
  const orders = status === undefined ? "All orders" : `${status[0]?.toUpperCase()}${status.slice(1)} orders`;
  if (id === undefined) return side === "after" ? orders : `${orders}, last page`;
  return `${orders}, ${side} ${id}`;
}

/** Not for changes on their way: a panel that comes and goes would move the table. The age of a wrong clock's is unknown. */
function isLate({ failed, oldest }: OutboxBacklog, now: Instant): boolean {
  if (oldest === undefined) return failed > 0;
  return failed > 0 || oldest < now - MINUTE_MS || oldest > now + MAX_CLOCK_SKEW_MS;
}

function backlogPanel({ waiting, failed }: OutboxBacklog): Html {
  const facts = html`<dl class="facts number"><dt>Waiting</dt><dd>${formatCount(waiting)}</dd>
    <dt>Set aside</dt><dd>${formatCount(failed)}</dd></dl>`;
  const hint = html`<p class="quiet small">'store-orders changes list --failed' shows what was set aside.</p>`;
  return panel("changes", "Orders with changes to deliver", html`${facts}${failed > 0 ? hint : ""}`);
}
