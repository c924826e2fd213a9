/** The export of the orders that the table shows, of all its pages. */
import type { HttpBindings } from "@hono/node-server";
import { errorMessage } from "../../core/errors.ts";
import { type DamagedOrder, eachOrder } from "../../orders/order-query.ts";
import { toLine } from "../../orders/wire.ts";
import type { ConsoleDependencies, ConsoleRequest } from "../page.ts";
import type { OrderTable } from "./orders-page.ts";

/**
 * Sends orders as newline-delimited JSON, in the order of the table. A page of the store is read when the browser has
 * taken the one before. A store that fails before the first one is an error, and later the download fails.
 */
export async function sendExport(
  c: ConsoleRequest,
  { store, explain, log }: ConsoleDependencies,
  { status, sort }: OrderTable,
): Promise<Response> {
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
