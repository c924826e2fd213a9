import type { HttpBindings } from "@hono/node-server";
import { errorMessage, invalidInput } from "../../core/errors.ts";
import { ERRORS } from "../../http/errors.ts";
import { parseInt64 } from "../../orders/int64.ts";
import { LIFECYCLE } from "../../orders/lifecycle.ts";
import { ORDER_FIELDS } from "../../orders/order.ts";
import { type DamagedOrder, eachOrder } from "../../orders/order-query.ts";
import { createOrders } from "../../orders/orders.ts";
import { toLine } from "../../orders/wire.ts";
import { invalidForm, submit } from "../form.ts";
import type { ConsoleApp, ConsoleDependencies, ConsoleRequest } from "../page.ts";
import { createOrderCounter } from "./order-counts.ts";
import { EVENTS, sendOrderPage } from "./order-page.ts";
import { createPlacings, FIRST_TABLE, type OrderTable, parseTable, sendOrdersPage } from "./orders-page.ts";

export function addOrderPages(app: ConsoleApp, dependencies: ConsoleDependencies): void {
  const { store, clock } = dependencies;
  const orders = createOrders({ store: store.orders, clock, by: "console" });
  const counter = createOrderCounter(store.orders);
  const context = { ...dependencies, counter, placings: createPlacings(store.orders) };

  app.get("/orders", (c) => sendTable(c, (table) => sendOrdersPage(c, context, table)));
  app.get("/orders/export", (c) => sendTable(c, (table) => sendExport(c, dependencies, table)));

  /** Sends what a query names, or the first page with the reason why it names nothing. */
  function sendTable(
    c: ConsoleRequest,
    send: (table: OrderTable) => Promise<Response>,
    query = new URL(c.req.url).search,
  ): Promise<Response> {
    try {
      return send(parseTable(query));
    } catch (error) {
      return sendOrdersPage(c, context, FIRST_TABLE, invalidForm("list", {}, error).notice);
    }
  }

  app.get("/orders/:id{-?\\d+}", async (c) => {
    const id = parseInt64(c.req.param("id"));
    if (id !== undefined) return sendOrderPage(c, dependencies, id);
    const problem = invalidInput("id", ORDER_FIELDS.id.validate(c.req.param("id")) ?? "");
    return sendOrdersPage(c, context, FIRST_TABLE, invalidForm("list", {}, problem).notice);
  });

  for (const event of EVENTS) {
    app.post(`/orders/:id{-?\\d+}/${event}`, async (c) => {
      const id = parseInt64(c.req.param("id"));
      if (id === undefined) return c.notFound();
      const view = c.get("view");
      const { notice } = await submit(event, view, async () => {
        const result = await orders[event](id);
        if (result.ok) return { kind: "success", message: `Order ${id} ${DONE[event]}.` };
        const isMissing = result.code === "order_not_found";
        const reason = isMissing ? ERRORS.order_not_found.message : LIFECYCLE.explain(result);
        return { kind: "failure", message: `${id}: ${reason}` };
      });
      const { list } = view.fields;
      if (list === undefined) return sendOrderPage(c, dependencies, id, notice);
      return sendTable(c, (table) => sendOrdersPage(c, context, table, notice), list);
    });
  }
}

const DONE = { ship: "has been shipped", fulfil: "is complete", cancel: "has been cancelled" } as const;

/** Sends lines of JSON. A store that fails before the first page is an error; later, the download fails. */
async function sendExport(c: ConsoleRequest, context: ConsoleDependencies, { status, sort }: OrderTable) {
  const { store, explain, log } = context;
  let damaged: DamagedOrder[] = [];
  const query = { status, order: sort === "lowest" ? "asc" : "desc" } as const;
  const pages = eachOrder(store.orders, query, (order) => void damaged.push(order));
  let page = await pages.next();

  /** Yields lines. One for an order that cannot be read says so, and an import rejects it: nothing is lost in silence. */
  async function* lines() {
    try {
      for (; page.done !== true; page = await pages.next()) yield linesOf(page.value.map(toLine));
      yield linesOf([]);
    } catch (error) {
      log(`error: An export is incomplete. ${errorMessage(explain(error))}`);
      (c.env as HttpBindings).incoming.socket.destroy();
    }
  }
  function linesOf(readable: readonly string[]): string {
    const others = damaged.map(({ id, problem }) => `{"id":${id},"problem":${JSON.stringify(problem)}}`);
    damaged = [];
    return [...readable, ...others, ""].join("\n");
  }

  c.header("content-type", "application/x-ndjson");
  c.header("content-disposition", `attachment; filename="${status ?? "all"}-orders.ndjson"`);
  return c.body(ReadableStream.from(lines()).pipeThrough(new TextEncoderStream()));
}
