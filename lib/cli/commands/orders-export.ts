import type { Command } from "commander";
import { escapeControls } from "../../domains/escape-controls.ts";
import { isOrderStatus } from "../../orders/lifecycle.ts";
import { explainUnknownStatus } from "../../orders/stored-order.ts";
import { toLine } from "../../orders/wire.ts";
import { type CommandContext, withStore } from "../context.ts";
import { EXIT } from "../exit-status.ts";
import { createProgress } from "../progress.ts";

/** `orders export`: all orders as newline-delimited JSON. */
export function addExportCommand(parent: Command, context: CommandContext): void {
  parent
    .command("export")
    .description("Writes all orders with their status as newline-delimited JSON, ascending by ID.")
    .addHelpText("after", HELP)
    .action((_flags: object, command: Command) =>
      withStore(context, command, async ({ store }) => {
        const { terminal } = context;
        // On a terminal that shows the orders themselves, progress would be mixed with them.
        const screen = terminal.isInteractive ? undefined : terminal.screen;
        const progress = await createProgress(
          { screen, log: terminal.log },
          { format: "{exported} orders exported", initial: { exported: 0 } },
        );
        let exported = 0;
        try {
          for await (const page of store.orders.scan()) {
            const unknown = page.filter(({ status }) => !isOrderStatus(status));
            for (const order of unknown)
              progress.log(escapeControls(`Warning: ${explainUnknownStatus(order)}`));
            if (!(await terminal.print(page.map((order) => `${toLine(order)}\n`).join("")))) break;
            exported += page.length;
            progress.update({ exported }, exported);
          }
        } finally {
          progress.stop();
        }
        return EXIT.success;
      }),
    );
}

const HELP = `
Examples:
  $ store-orders orders export > orders.ndjson
  $ store-orders orders export | store-orders --database copy.db orders import -`;
