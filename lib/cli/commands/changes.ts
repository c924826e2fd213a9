import type { Command } from "commander";
import { invalidInput } from "../../core/errors.ts";
import { changeOf } from "../../orders/delivery.ts";
import type { Outbox } from "../../orders/order-store.ts";
import type { Store } from "../../stores/store.ts";
import { readInt64, readNumberBetween } from "../arguments.ts";
import { type CommandContext, withStore } from "../context.ts";
import { printResult, printResults } from "../output.ts";

export function defineChanges(group: Command, context: CommandContext): void {
  group.addHelpText("afterAll", HELP);

  group
    .command("list")
    .description("Lists the orders with changes to deliver, the oldest first, with the next change of each.")
    .option("--failed", "list those whose next change was set aside, because it could not be delivered")
    .option("--limit <n>", "list at most this many", readNumberBetween(1, 1_000), 100)
    .action(({ failed, limit }: { failed?: true; limit: number }) =>
      withStore(context, async ({ store }) => {
        const found = await outboxOf(store).list(failed ? "failed" : "waiting", limit);
        const rows = found.map(({ id: order, due, delivered, attempts, ...waiting }) => {
          const next = due ? new Date(due).toISOString() : undefined;
          const change = `${order}:${delivered + 1}`;
          if (waiting.order === undefined) return { change, attempts, next, problem: waiting.problem };
          // Somebody has removed its history, or its last change has been delivered meanwhile.
          if (delivered >= waiting.order.history.length)
            return { change, attempts, next, problem: `Order ${order} has no change ${delivered + 1}.` };
          const { id, event, at, by } = changeOf(waiting.order, delivered);
          return { change: id, event, at: new Date(at).toISOString(), by, attempts, next };
        });
        const columns = ["change", "event", "at", "by", "attempts", "next"];
        const hasProblem = rows.some((row) => "problem" in row);
        await printResults(context, hasProblem ? [...columns, "problem"] : columns, rows);
      }),
    );

  group
    .command("retry")
    .description("Delivers changes at once that were set aside or wait: those of one order, or all.")
    .argument("[order]", "the order's ID", readInt64)
    .action((order?: bigint) =>
      withStore(context, async ({ store }) => {
        const retried = await outboxOf(store).retry(order);
        if (order !== undefined && retried === 0)
          context.terminal.log(`No change of order ${order} was set aside, or waits for another attempt.`);
        await printResult(context, { retried });
      }),
    );
}

export function outboxOf({ outbox }: Store): Outbox {
  if (outbox === undefined) throw invalidInput("store", "It has no outbox.");
  return outbox;
}

const HELP = `
Examples:
  $ store-orders changes list --failed
  $ store-orders changes retry 1001`;
