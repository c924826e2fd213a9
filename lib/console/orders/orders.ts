import { invalidInput } from "../../core/errors.ts";
import { ERRORS } from "../../http/errors.ts";
import { parseInt64 } from "../../orders/int64.ts";
import { explainTransitionError } from "../../orders/lifecycle.ts";
import { ORDER_FIELDS } from "../../orders/order.ts";
import { createOrders, type Orders } from "../../orders/orders.ts";
import { invalidForm, submit } from "../form.ts";
import type { ConsoleApp, ConsoleDependencies, ConsoleRequest, Notice, Section, View } from "../page.ts";
import { sendExport } from "./export.ts";
import { OrderCounter } from "./order-counts.ts";
import { EVENTS, placeOrder, sendOrderPage } from "./order-page.ts";
import { createPlacings, FIRST_TABLE, type OrderTable, parseTable, sendOrdersPage } from "./orders-page.ts";

/** The section about orders: their number by status, all of them page by page, and each through its lifecycle. */
export const ordersSection: Section = { path: "orders", title: "Orders", add: addOrderPages };

function addOrderPages(app: ConsoleApp, dependencies: ConsoleDependencies): void {
  const { store, clock } = dependencies;
  const orders = createOrders({ store: store.orders, clock, by: "console" });
  const counter = new OrderCounter(store.orders, clock);
  const context = { ...dependencies, counter, placings: createPlacings(store.orders) };

  app.get("/orders", (c) => sendTable(c, (table) => sendOrdersPage(c, context, table)));
  app.get("/orders/export", (c) => sendTable(c, (table) => sendExport(c, dependencies, table)));

  /** Sends what an address names, or the first page with the reason why it names nothing. */
  function sendTable(c: ConsoleRequest, send: (table: OrderTable) => Promise<Response>): Promise<Response> {
    try {
      return send(parseTable(new URL(c.req.url).search));
    } catch (error) {
      return sendOrdersPage(c, context, FIRST_TABLE, invalidForm("list", {}, error));
    }
  }

  app.get("/orders/:id{-?\\d+}", async (c) => {
    const id = parseInt64(c.req.param("id"));
    if (id !== undefined) return sendOrderPage(c, dependencies, id);
    const problem = invalidInput("id", ORDER_FIELDS.id.validate(c.req.param("id")) ?? "");
    return sendOrdersPage(c, context, FIRST_TABLE, invalidForm("list", {}, problem));
  });

  app.post("/orders", async (c) => {
    const view = c.get("view");
    const result = await submit("place", view, () => placeOrder(orders, view));
    return sendOrdersPage(c, context, listOf(view), result);
  });

  app.post("/orders/count", async (c) => {
    await counter.count();
    const { failure, isRunning } = counter;
    const message = failure ?? (isRunning ? "The count has started." : "Every order has been counted.");
    const notice: Notice = { kind: failure === undefined ? "success" : "failure", message };
    const result = { form: "count", notice, errors: {}, values: {} };
    return sendOrdersPage(c, context, listOf(c.get("view")), result);
  });

  for (const event of EVENTS) {
    app.post(`/orders/:id{-?\\d+}/${event}`, async (c) => {
      const id = parseInt64(c.req.param("id"));
      if (id === undefined) return c.notFound();
      const view = c.get("view");
      const result = await submit(event, view, () => applyEvent(orders, event, id));
      if (view.fields["list"] === undefined) return sendOrderPage(c, dependencies, id, result);
      return sendOrdersPage(c, context, listOf(view), result);
    });
  }
}

/** The page of the table that a form was on. */
function listOf({ fields }: View): OrderTable {
  try {
    return parseTable(fields["list"] ?? "");
  } catch {
    return FIRST_TABLE;
  }
}

const DONE = { ship: "has been shipped", fulfil: "is complete", cancel: "has been cancelled" } as const;

async function applyEvent(orders: Orders, event: keyof typeof DONE, id: bigint): Promise<Notice> {
  const result = await orders[event](id);
  if (result.ok) return { kind: "success", message: `Order ${id} ${DONE[event]}.` };
  const reason =
    result.code === "order_not_found" ? ERRORS.order_not_found.message : explainTransitionError(result);
  return { kind: "failure", message: `${id}: ${reason}` };
}
