import type { Command } from "commander";
import { toLine } from "../../orders/wire.ts";
import { type CommandContext, withStore } from "../context.ts";
import { EXIT } from "../exit-status.ts";

/** `orders export`: all orders as newline-delimited JSON. */
export function addExportCommand(parent: Command, context: CommandContext): void {
  parent
    .command("export")
    .description("Writes all orders with their status as newline-delimited JSON, ascending by ID.")
    .addHelpText("after", HELP)
    .action((_flags: object, command: Command) =>
      withStore(context, command, async ({ store }) => {
        for await (const page of store.orders.scan()) {
          if (!(await context.terminal.print(page.map((order) => `${toLine(order)}\n`).join("")))) break;
        }
        return EXIT.success;
      }),
    );
}

const HELP = `
Examples:
  $ store-orders orders export > orders.ndjson
  $ store-orders orders export | store-orders --database copy.db orders import -`;
