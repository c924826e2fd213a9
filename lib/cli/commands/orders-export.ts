import type { Command } from "commander";
import { toLine } from "../../orders/order.ts";
import { type CommandContext, withStore } from "../context.ts";
import { EXIT } from "../exit-status.ts";

/** `orders export`: every order with its status, ascending, one JSON object a line. */
export function addExportCommand(parent: Command, context: CommandContext): void {
  parent
    .command("export")
    .description("Write every order with its status, ascending, as newline-delimited JSON.")
    .addHelpText("after", HELP)
    .action((_flags: object, command: Command) =>
      withStore(context, command, async ({ store }) => {
        for await (const page of store.orders.scan()) {
          if (!(await context.terminal.print(page.map((order) => `${toLine(order)}\n`).join("")))) break;
        }
        return EXIT.done;
      }),
    );
}

const HELP = `
Examples:
  $ store-orders orders export > orders.ndjson
  $ store-orders orders export | store-orders --database copy.db orders import -`;
