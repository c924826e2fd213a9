import { type Command, Option } from "commander";
import { InvalidInputError } from "../../core/errors.ts";
import { escapeLine, formatCount } from "../../core/text.ts";
import { ERRORS } from "../../http/errors.ts";
import { changeIdOf } from "../../orders/history.ts";
import {
  explainUnknownStatus,
  LIFECYCLE,
  type OrderEvent,
  type OrderStatus,
  type StoredOrder,
} from "../../orders/lifecycle.ts";
import { MAX_QUANTITY } from "../../orders/order.ts";
import { type DamagedOrder, eachOrder, MAX_PAGE_ORDERS } from "../../orders/order-query.ts";
import type { OrderStore } from "../../orders/order-store.ts";
import { createOrders, type NewOrder } from "../../orders/orders.ts";
import { parseOrder, toLine } from "../../orders/wire.ts";
import { readInt64, readNumberBetween, validateFlags } from "../arguments.ts";
import { type CommandContext, withStore, withStoreOrCreate } from "../context.ts";
import { EXIT } from "../errors.ts";
import { createProgress, printResult, printResults, type Result } from "../output.ts";
import { addImportCommand } from "./orders-import.ts";

export function defineOrders(group: Command, context: CommandContext): void {
  const { clock, fail, terminal } = context;
  group.addHelpText("afterAll", HELP);
  addImportCommand(group, context);

  group
    .command("export")
    .description("Writes all orders with their status as newline-delimited JSON, ascending by ID.")
    .action(() => withStore(context, ({ store }) => exportOrders(store.orders, context)));

  group
    .command("get")
    .description("Shows one order.")
    .argument("<id>", "the order's ID", readInt64)
    .action((id: bigint) =>
      withStore(context, async ({ store }) => {
        const order = await store.orders.find(id);
        if (order === undefined) return fail({ code: "order_not_found", message: `${id}: ${NO_ORDER}` });
        const changes = order.history.map((change, index) => {
          const { at, token: _token, ...rest } = change;
          return { id: changeIdOf(id, index + 1, change), at: new Date(at).toISOString(), ...rest };
        });
        const lines = changes.map(({ id: _id, ...change }) => Object.values(change).join(" "));
        const history = context.flags.json ? changes : lines;
        return printResult(context, { ...summarizeOrder(order), history });
      }),
    );

  group
    .command("list")
    .description("Lists orders with their status, ascending by ID.")
    .addOption(new Option("--status <status>", "only orders with this status").choices(LIFECYCLE.statuses))
    .option(...LIMIT)
    .action(({ status, limit }: { status?: OrderStatus; limit: number }) =>
      withStore(context, async ({ store }) => {
        const warn = ({ problem }: DamagedOrder) => terminal.log(escapeLine(`Warning: ${problem}`));
        const orders: StoredOrder[] = [];
        const query = { status, limit: Math.min(limit + 1, MAX_PAGE_ORDERS) };
        for await (const page of eachOrder(store.orders, query, warn)) {
          orders.push(...page);
          // The order beyond the limit tells whether there are more.
          if (orders.length > limit) break;
        }
        await printResults(context, COLUMNS, orders.slice(0, limit).map(summarizeOrder));
        const more = `There are more orders than these ${formatCount(limit)}.`;
        if (orders.length > limit) terminal.log(`${more} Use a larger --limit, or 'orders export' for all.`);
      }),
    );

  group
    .command("place")
    .description("Places a pending order.")
    .option("--id <n>", "the order's ID (default: a new one)", readInt64)
    .option("--pet-id <n>", "the ID of the pet", readInt64)
    .option("--quantity <n>", "the number of units", readNumberBetween(0, MAX_QUANTITY, ", in plain digits"))
    .option("--ship-date <rfc3339>", "the expected ship date")
    .action((order: NewOrder) => {
      validateFlags(order, () => {
        const parsed = parseOrder({ id: 0n, ...order });
        if (!parsed.ok) throw new InvalidInputError(parsed.issues);
      });
      return withStoreOrCreate(context, async ({ store }) => {
        const result = await createOrders({ store: store.orders, clock, by: "orders place" }).place(order);
        if (!result.ok) {
          const message = `Order ${result.id} already exists with different content; it was not changed.`;
          return fail({ code: result.code, message });
        }
        if (!result.created) terminal.log("The order already exists with the same content.");
        return printResult(context, summarizeOrder({ record: result.record, status: "pending" }));
      });
    });

  for (const [event, description] of Object.entries(EVENT_DESCRIPTIONS) as [OrderEvent, string][])
    group
      .command(event)
      .description(description)
      .argument("<id>", "the order's ID", readInt64)
      .action((id: bigint) =>
        withStore(context, async ({ store }) => {
          const result = await createOrders({ store: store.orders, clock, by: `orders ${event}` })[event](id);
          if (result.ok) return printResult(context, summarizeOrder(result.order));
          const reason = result.code === "order_not_found" ? NO_ORDER : LIFECYCLE.explain(result);
          return fail({ code: result.code, message: `${id}: ${reason}` });
        }),
      );
}

const EVENT_DESCRIPTIONS: Readonly<Record<OrderEvent, string>> = {
  ship: "Marks a pending order as shipped now.",
  fulfil: "Marks a shipped order as complete.",
  cancel: "Cancels a pending order.",
};

async function exportOrders(orders: OrderStore, { terminal, exit }: CommandContext): Promise<void> {
  // On a terminal that shows the orders themselves, progress would be mixed with them.
  const barScreen = terminal.display ? undefined : terminal.barScreen;
  const shown = { format: "{exported} orders exported", initial: { exported: 0 } };
  const progress = await createProgress({ barScreen, log: terminal.log }, shown);
  let [exported, damaged] = [0, 0];
  const onDamaged = ({ problem }: DamagedOrder) => {
    damaged++;
    progress.log(escapeLine(`Warning: An order is not exported. ${problem}`));
  };
  try {
    for await (const page of eachOrder(orders, {}, onDamaged)) {
      for (const order of page.filter(({ status }) => !LIFECYCLE.isStatus(status)))
        progress.log(escapeLine(`Warning: ${explainUnknownStatus(order)}`));
      if (!(await terminal.print(page.map((order) => `${toLine(order)}\n`).join("")))) break;
      exported += page.length;
      progress.update({ exported }, exported);
    }
  } finally {
    progress.stop();
  }
  if (damaged === 0) return;
  terminal.log(`Not exported: ${formatCount(damaged)}. 'database check' says what to do.`);
  exit(EXIT.failed);
}

function summarizeOrder({ record, status }: StoredOrder): Result {
  return { ...record, status };
}

const NO_ORDER = ERRORS.order_not_found.message;

const COLUMNS = ["id", "petId", "quantity", "shipDate", "complete", "status"];

/** A table needs all its rows in memory. */
const MAX_LISTED = 10_000;
const ALL = "; 'orders export' writes all orders";
const LIMIT_HELP = `list at most this many orders, up to ${MAX_LISTED}${ALL}`;
const LIMIT = ["--limit <n>", LIMIT_HELP, readNumberBetween(1, MAX_LISTED, ALL), 100] as const;

const HELP = `
Examples:
  $ store-orders orders place --pet-id 7 --quantity 2 --ship-date 2026-11-20T09:30:00Z
  $ store-orders orders export | store-orders --database copy.db orders import -`;
