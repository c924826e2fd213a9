import type { Command } from "commander";
import { explainTransitionError, type Transition } from "../../orders/lifecycle.ts";
import type { StoredOrder } from "../../orders/order.ts";
import { createOrders, type NewOrder, type Orders } from "../../orders/orders.ts";
import { int64, wholeNumber } from "../arguments.ts";
import { type CommandContext, withNewStore, withStore } from "../context.ts";
import { EXIT } from "../exit-status.ts";
import { printResult, type Result } from "../results.ts";
import { addExportCommand } from "./orders-export.ts";
import { addImportCommand } from "./orders-import.ts";

/** `orders`: the state machine from the shell, and the way in and out for many at a time. */
export function addOrderCommands(parent: Command, context: CommandContext): void {
  const group = parent.command("orders").description("Orders.").addHelpText("after", HELP);
  addImportCommand(group, context);
  addExportCommand(group, context);

  group
    .command("place")
    .description("Place a pending order.")
    .option("--id <n>", "its identifier; one is made where none is given", int64)
    .option("--pet-id <n>", "the animal in it", int64)
    .option("--quantity <n>", "how many", wholeNumber)
    .option("--ship-date <rfc3339>", "when it is expected to ship")
    .option("--complete", "whether it has been fulfilled")
    .addHelpText("after", HELP)
    .action((order: NewOrder, command: Command) =>
      withNewStore(context, command, async ({ store }) => {
        const orders = createOrders({ store: store.orders, clock: context.clock });
        const { outcome, record } = await orders.place(order);
        if (outcome === "conflict") {
          context.terminal.tell(
            `error: Order ${record.id} exists with other content; it has not been changed.`,
          );
          return EXIT.failed;
        }
        if (outcome === "unchanged") context.terminal.tell("The order was there already.");
        await printResult(context, command, summary({ record, status: "pending" }));
        return EXIT.done;
      }),
    );

  /** An event that happens to one order, which is shown as it is afterwards. */
  function event(
    name: string,
    description: string,
    happen: (orders: Orders, id: bigint) => Promise<Transition | undefined>,
  ): void {
    group
      .command(name)
      .description(description)
      .argument("<id>", "the order's identifier", int64)
      .addHelpText("after", HELP)
      .action((id: bigint, _flags: object, command: Command) =>
        withStore(context, command, async ({ store }) => {
          const result = await happen(createOrders({ store: store.orders, clock: context.clock }), id);
          if (result?.moved === true) {
            await printResult(context, command, summary(result.order));
            return EXIT.done;
          }
          const reason = result === undefined ? "There is no such order." : explainTransitionError(result);
          context.terminal.tell(`error: ${id}: ${reason}`);
          return EXIT.failed;
        }),
      );
  }
  event("ship", "Mark a pending order as shipped, now.", (orders, id) => orders.ship(id));
  event("fulfil", "Mark a shipped order as complete.", (orders, id) => orders.fulfil(id));
  event("cancel", "Cancel a pending order.", (orders, id) => orders.cancel(id));
}

const HELP = `
Examples:
  $ store-orders orders place --pet-id 7 --quantity 2 --ship-date 2026-11-20T09:30:00Z
  $ store-orders orders ship 1001
  $ store-orders orders fulfil 1001
  $ store-orders orders cancel 1002`;

function summary({ record, status }: StoredOrder): Result {
  return { ...record, status };
}
