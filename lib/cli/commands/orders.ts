import type { Command } from "commander";
import { InvalidInputError } from "../../errors.ts";
import { explainTransitionError } from "../../orders/lifecycle.ts";
import type { ApplyResult } from "../../orders/order-store.ts";
import { createOrders, type NewOrder, type Orders } from "../../orders/orders.ts";
import { parseOrder } from "../../orders/parse-order.ts";
import { readInt64, readWholeNumber, validateFlags } from "../arguments.ts";
import { type CommandContext, withStore, withStoreOrCreate } from "../context.ts";
import { EXIT } from "../exit-status.ts";
import { printResult } from "../results.ts";
import { addExportCommand } from "./orders-export.ts";
import { addImportCommand } from "./orders-import.ts";
import { addGetCommand, addListCommand, NO_ORDER, summarizeOrder } from "./orders-read.ts";

/** `orders`: single orders through their lifecycle, and import and export of any number of them. */
export function addOrderCommands(parent: Command, context: CommandContext): void {
  const group = parent
    .command("orders")
    .description("Manages, imports and exports orders.")
    .addHelpText("after", HELP);
  addImportCommand(group, context);
  addExportCommand(group, context);
  addGetCommand(group, context);
  addListCommand(group, context);

  group
    .command("place")
    .description("Places a pending order.")
    .option("--id <n>", "the order's ID (default: a new one)", readInt64)
    .option("--pet-id <n>", "the ID of the pet", readInt64)
    .option("--quantity <n>", "the number of units", readWholeNumber)
    .option("--ship-date <rfc3339>", "the expected ship date")
    .option("--complete", "mark the order as complete")
    .addHelpText("after", HELP)
    .action((order: NewOrder, command: Command) => {
      validateFlags(order, () => {
        const parsed = parseOrder({ id: 0n, ...order });
        if (!parsed.ok) throw new InvalidInputError(parsed.issues);
      });
      return withStoreOrCreate(context, command, async ({ store }) => {
        const orders = createOrders({ store: store.orders, clock: context.clock });
        const result = await orders.place(order);
        const { record } = result;
        if (!result.ok) {
          context.reportError({
            code: result.code,
            message: `Order ${record.id} already exists with different content; it was not changed.`,
          });
          return EXIT.failed;
        }
        if (!result.created) context.terminal.log("The order already exists with the same content.");
        await printResult(context, command, summarizeOrder({ record, status: "pending" }));
        return EXIT.success;
      });
    });

  /** Adds a command that applies an event to an order and prints the changed order. */
  function addEventCommand(
    name: string,
    description: string,
    applyEvent: (orders: Orders, id: bigint) => Promise<ApplyResult>,
  ): void {
    group
      .command(name)
      .description(description)
      .argument("<id>", "the order's ID", readInt64)
      .addHelpText("after", HELP)
      .action((id: bigint, _flags: object, command: Command) =>
        withStore(context, command, async ({ store }) => {
          const orders = createOrders({ store: store.orders, clock: context.clock });
          const result = await applyEvent(orders, id);
          if (result.ok) {
            await printResult(context, command, summarizeOrder(result.order));
            return EXIT.success;
          }
          const reason = result.code === "order_not_found" ? NO_ORDER : explainTransitionError(result);
          context.reportError({ code: result.code, message: `${id}: ${reason}` });
          return EXIT.failed;
        }),
      );
  }
  addEventCommand("ship", "Marks a pending order as shipped now.", (orders, id) => orders.ship(id));
  addEventCommand("fulfil", "Marks a shipped order as complete.", (orders, id) => orders.fulfil(id));
  addEventCommand("cancel", "Cancels a pending order.", (orders, id) => orders.cancel(id));
}

const HELP = `
Examples:
  $ store-orders orders place --pet-id 7 --quantity 2 --ship-date 2026-11-20T09:30:00Z
  $ store-orders orders ship 1001
  $ store-orders orders fulfil 1001
  $ store-orders orders cancel 1002
  $ store-orders orders get 1001
  $ store-orders orders list --status pending --limit 20`;
