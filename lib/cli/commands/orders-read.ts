import { type Command, InvalidArgumentError, Option } from "commander";
import { ERRORS } from "../../errors.ts";
import { ORDER_STATUSES, type OrderStatus, type StoredOrder } from "../../orders/lifecycle.ts";
import type { OrderStore } from "../../orders/order-store.ts";
import { readInt64, readWholeNumber } from "../arguments.ts";
import { type CommandContext, withStore } from "../context.ts";
import { EXIT } from "../exit-status.ts";
import { formatCount, printResult, printResults, type Result } from "../results.ts";

/** `orders get`: one order. */
export function addGetCommand(parent: Command, context: CommandContext): void {
  parent
    .command("get")
    .description("Shows one order.")
    .argument("<id>", "the order's ID", readInt64)
    .addHelpText("after", HELP)
    .action((id: bigint, _flags: object, command: Command) =>
      withStore(context, command, async ({ store }) => {
        const order = await store.orders.find(id);
        if (order === undefined) {
          context.reportError({ code: "order_not_found", message: `${id}: ${NO_ORDER}` });
          return EXIT.failed;
        }
        await printResult(context, command, summarizeOrder(order));
        return EXIT.success;
      }),
    );
}

/** `orders list`: the first orders, as a table. */
export function addListCommand(parent: Command, context: CommandContext): void {
  parent
    .command("list")
    .description("Lists orders with their status, ascending by ID.")
    .addOption(new Option("--status <status>", "list only orders with this status").choices(ORDER_STATUSES))
    .addOption(
      new Option("--limit <n>", `list at most this many orders, up to ${MAX_LISTED_ORDERS}`)
        .argParser(readLimit)
        .default(DEFAULT_LIMIT),
    )
    .addHelpText("after", HELP)
    .action(({ status, limit }: { status?: OrderStatus; limit: number }, command: Command) =>
      withStore(context, command, async ({ store }) => {
        // One more, to know whether there are more.
        const orders = await findOrders(store.orders, status, limit + 1);
        const rows = orders.slice(0, limit).map(summarizeOrder);
        await printResults(context, command, COLUMNS, rows);
        if (orders.length > limit) {
          context.terminal.log(
            `There are more orders than these ${formatCount(limit)}. Use a larger --limit, or 'orders export' for all.`,
          );
        }
        return EXIT.success;
      }),
    );
}

/** Shows an order's fields and its status. */
export function summarizeOrder({ record, status }: StoredOrder): Result {
  return { ...record, status };
}

/** The error text for an order that does not exist. */
export const NO_ORDER = ERRORS.order_not_found.message;

const HELP = `
Examples:
  $ store-orders orders get 1001
  $ store-orders orders list --limit 20
  $ store-orders orders list --status pending --json`;

const COLUMNS = ["id", "petId", "quantity", "shipDate", "complete", "status"];

const DEFAULT_LIMIT = 100;

/** A table needs all its rows in memory. */
const MAX_LISTED_ORDERS = 10_000;

function readLimit(text: string): number {
  const limit = readWholeNumber(text);
  if (limit >= 1 && limit <= MAX_LISTED_ORDERS) return limit;
  throw new InvalidArgumentError(
    `Use a number from 1 to ${MAX_LISTED_ORDERS}; 'orders export' writes all orders.`,
  );
}

async function findOrders(
  store: OrderStore,
  status: OrderStatus | undefined,
  limit: number,
): Promise<readonly StoredOrder[]> {
  const found: StoredOrder[] = [];
  for await (const page of store.scan()) {
    for (const order of page) {
      if (status === undefined || order.status === status) found.push(order);
      if (found.length === limit) return found;
    }
  }
  return found;
}
