import { invalidInput } from "../../core/errors.ts";
import { ERRORS } from "../../http/errors.ts";
import { parseInt64 } from "../../orders/int64.ts";
import { explainTransitionError } from "../../orders/lifecycle.ts";
import { ORDER_FIELDS } from "../../orders/order.ts";
import { createOrders, type Orders } from "../../orders/orders.ts";
import { invalidForm, submit } from "../form.ts";
import {
  type ConsoleApp,
  type ConsoleDependencies,
  type ConsoleRequest,
  type Notice,
  pathOf,
  type Section,
  type View,
} from "../page.ts";
import { OrderCounter } from "./order-counts.ts";
import { EVENTS, placeOrder, sendOrderPage } from "./order-page.ts";
import { FIRST_TABLE, type OrderTable, parseTable, sendOrdersPage } from "./orders-page.ts";

/** The section about orders: their number by status, all of them page by page, and each through its lifecycle. */
export const ordersSection: Section = { path: "orders", title: "Orders", add: addOrderPages };

function addOrderPages(app: ConsoleApp, dependencies: ConsoleDependencies): void {
  const { store, clock } = dependencies;
  const orders = createOrders({ store: store.orders, clock, by: "console" });
  const counter = new OrderCounter(store.orders, clock);

  /** Sends the table with the issues of an input. */
  function sendInvalid(c: ConsoleRequest, id: string, error: unknown): Promise<Response> {
    return sendOrdersPage(c, dependencies, counter, FIRST_TABLE, invalidForm("find", { id }, error));
  }

  function sendWrongId(c: ConsoleRequest, id: string): Promise<Response> {
    return sendInvalid(c, id, invalidInput("id", ORDER_FIELDS.id.validate(id) ?? ""));
  }

  app.get("/orders", (c) => {
    try {
      return sendOrdersPage(c, dependencies, counter, parseTable(new URL(c.req.url).search));
    } catch (error) {
      return sendInvalid(c, c.req.query("before") ?? c.req.query("after") ?? "", error);
    }
  });

  // Not with GET: what is pasted here by mistake, such as a key, must not become an address.
  app.post("/find-order", async (c) => {
    const view = c.get("view");
    const text = (view.fields["id"] ?? "").trim();
    const id = parseInt64(text);
    return id === undefined ? sendWrongId(c, text) : c.redirect(pathOf(view, "orders", `${id}`), 303);
  });

  app.get("/orders/:id{-?\\d+}", async (c) => {
    const id = parseInt64(c.req.param("id"));
    return id === undefined ? sendWrongId(c, c.req.param("id")) : sendOrderPage(c, dependencies, id);
  });

  app.post("/orders", async (c) => {
    const view = c.get("view");
    const result = await submit("place", view, () => placeOrder(orders, view));
    return sendOrdersPage(c, dependencies, counter, listOf(view), result);
  });

  app.post("/orders/count", async (c) => {
    await counter.count();
    const { failure, isRunning } = counter;
    const message = failure ?? (isRunning ? "The count has started." : "Every order has been counted.");
    const notice: Notice = { kind: failure === undefined ? "success" : "failure", message };
    const result = { form: "count", notice, errors: {}, values: {} };
    return sendOrdersPage(c, dependencies, counter, listOf(c.get("view")), result);
  });

  for (const event of EVENTS) {
    app.post(`/orders/:id{-?\\d+}/${event}`, async (c) => {
      const id = parseInt64(c.req.param("id"));
      if (id === undefined) return c.notFound();
      const view = c.get("view");
      const result = await submit(event, view, () => applyEvent(orders, event, id));
      if (view.fields["list"] === undefined) return sendOrderPage(c, dependencies, id, result);
      return sendOrdersPage(c, dependencies, counter, listOf(view), result);
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
