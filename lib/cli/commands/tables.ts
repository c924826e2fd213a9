import type { Command } from "commander";
import { InvalidInputError } from "../../errors.ts";
import { wholeNumber } from "../arguments.ts";
import { type CommandContext, globalFlags } from "../context.ts";
import { chooseStore } from "../settings.ts";

/** `tables`: the DynamoDB tables, for emulators and for trying things out. A stack makes its own. */
export function addTableCommands(parent: Command, context: CommandContext): void {
  const group = parent
    .command("tables")
    .description("The DynamoDB tables that --dynamodb PREFIX names. A deployed stack makes its own.")
    .addHelpText("after", HELP);

  const prefixOf = (command: Command): string => {
    const choice = chooseStore(globalFlags(command), context.env);
    if (choice.kind === "dynamodb") return choice.prefix;
    throw new InvalidInputError([{ path: "--dynamodb", message: "Give the prefix of the tables." }]);
  };

  group
    .command("create")
    .description("Make PREFIX-orders and PREFIX-accounts. Tables that are there are left as they are.")
    .option(
      "--buckets <n>",
      "partitions of the orders, fixed for the life of the table (default 16)",
      wholeNumber,
    )
    .addHelpText("after", HELP)
    .action(async ({ buckets }: { readonly buckets?: number }, command: Command) => {
      const prefix = prefixOf(command);
      const { createDynamodbTables } = await import("../../stores/dynamodb/index.ts");
      await createDynamodbTables({ prefix, ...(buckets === undefined ? {} : { buckets }) });
      context.terminal.tell(`The tables ${prefix}-orders and ${prefix}-accounts are there.`);
    });

  group
    .command("delete")
    .description("Delete both tables with everything in them.")
    .requiredOption("--yes", "say that all orders, accounts and keys in them may go")
    .addHelpText("after", HELP)
    .action(async (_flags: object, command: Command) => {
      const prefix = prefixOf(command);
      const { deleteDynamodbTables } = await import("../../stores/dynamodb/index.ts");
      await deleteDynamodbTables({ prefix });
      context.terminal.tell(`The tables ${prefix}-orders and ${prefix}-accounts are gone.`);
    });
}

const HELP = `
Examples:
  $ AWS_ENDPOINT_URL=http://127.0.0.1:4567 store-orders tables create --dynamodb shop
  $ AWS_ENDPOINT_URL=http://127.0.0.1:4567 store-orders tables delete --dynamodb shop --yes`;
