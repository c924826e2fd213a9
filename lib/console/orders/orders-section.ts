import { ERRORS, invalidInput } from "../../errors.ts";
import { ORDER_FIELDS } from "../../orders/fields.ts";
import { parseInt64 } from "../../orders/int64.ts";
import { explainTransitionError } from "../../orders/lifecycle.ts";
import { createOrders, type Orders } from "../../orders/orders.ts";
import { attempt } from "../form.ts";
import type { Notice } from "../page.ts";
import { type PageStarts, parseStarts } from "../pager.ts";
import {
  type ConsoleApp,
  type ConsoleContext,
  type ConsoleRequest,
  pathOf,
  type Section,
  type View,
} from "../section.ts";
import { EVENTS } from "./order-actions.ts";
import { sendOrderPage } from "./order-page.ts";
import { sendOrdersPage } from "./orders-page.ts";
import { placeOrder } from "./place-order.ts";
import { createStatusCounter } from "./status-counter.ts";

/** Orders: how many have which status, all of them page by page, and single ones through their lifecycle. */
export const ordersSection: Section = { path: "orders", title: "Orders", add: addOrderPages };

function addOrderPages(app: ConsoleApp, context: ConsoleContext): void {
  const { store, clock } = context;
  const orders = createOrders({ store: store.orders, clock });
  const counter = createStatusCounter(store.orders, clock);

  async function sendWrongId(c: ConsoleRequest, text: string): Promise<Response> {
    const view = { ...c.get("view"), fields: { id: text } };
    const outcome = await attempt("find", view, () => {
      throw invalidInput("id", ORDER_FIELDS.id.validate(text) ?? "");
    });
    return sendOrdersPage(c, context, counter, [], outcome);
  }

  app.get("/orders", (c) => {
    const text = c.req.query("after") ?? "";
    const starts = parseStarts(text, isInt64);
    return starts === undefined ? sendWrongId(c, text) : sendOrdersPage(c, context, counter, starts);
  });

  app.get("/find-order", async (c) => {
    const text = (c.req.query("id") ?? "").trim();
    const id = parseInt64(text);
    return id === undefined ? sendWrongId(c, text) : c.redirect(pathOf(c.get("view"), "orders", `${id}`));
  });

  app.get("/orders/:id{-?\\d+}", async (c) => {
    const id = parseInt64(c.req.param("id"));
    return id === undefined ? sendWrongId(c, c.req.param("id")) : sendOrderPage(c, context, id);
  });

  app.post("/orders", async (c) => {
    const view = c.get("view");
    const outcome = await attempt("place", view, () => placeOrder(orders, view));
    return sendOrdersPage(c, context, counter, listOf(view), outcome);
  });

  app.post("/orders/count", async (c) => {
    await counter.count();
    const message =
      counter.progress === undefined ? "Every order has been counted." : "The count has started.";
    const notice = { kind: "success", message } as const;
    const outcome = await attempt("count", c.get("view"), async () => notice);
    return sendOrdersPage(c, context, counter, listOf(c.get("view")), outcome);
  });

  for (const event of EVENTS) {
    app.post(`/orders/:id{-?\\d+}/${event}`, async (c) => {
      const id = parseInt64(c.req.param("id"));
      if (id === undefined) return c.notFound();
      const view = c.get("view");
      const outcome = await attempt(event, view, () => applyEvent(orders, event, id));
      if (view.fields["list"] === undefined) return sendOrderPage(c, context, id, outcome);
      return sendOrdersPage(c, context, counter, listOf(view), outcome);
    });
  }
}

/** The page of the table that a form was on. */
function listOf({ fields }: View): PageStarts {
  return parseStarts(fields["list"] ?? "", isInt64) ?? [];
}

function isInt64(text: string): boolean {
  return parseInt64(text) !== undefined;
}

const DONE = { ship: "has been shipped", fulfil: "is complete", cancel: "has been cancelled" } as const;

async function applyEvent(orders: Orders, event: keyof typeof DONE, id: bigint): Promise<Notice> {
  const result = await orders[event](id);
  if (result.ok) return { kind: "success", message: `Order ${id} ${DONE[event]}.` };
  const reason =
    result.code === "order_not_found" ? ERRORS.order_not_found.message : explainTransitionError(result);
  return { kind: "failure", message: `${id}: ${reason}` };
}
