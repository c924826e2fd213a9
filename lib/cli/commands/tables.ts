import type { Command } from "commander";
import { invalidInput } from "../../errors.ts";
import { MAX_BUCKETS } from "../../stores/dynamodb/layout.ts";
import { readNumberBetween } from "../arguments.ts";
import { type CommandContext, globalFlags } from "../context.ts";
import { explainDynamodbError } from "../dynamodb-errors.ts";
import { chooseStore, readEnvironment } from "../settings.ts";

/** `tables`: DynamoDB tables for emulators and experiments. A deployed stack creates its own. */
export function addTableCommands(parent: Command, context: CommandContext): void {
  const group = parent
    .command("tables")
    .description("Creates and deletes the DynamoDB tables of --dynamodb PREFIX. A stack creates its own.")
    .addHelpText("after", HELP);

  const requirePrefix = (command: Command): string => {
    const choice = chooseStore(globalFlags(command), context.env);
    if (choice.kind === "dynamodb") return choice.prefix;
    throw invalidInput("--dynamodb", "Set the prefix of the tables.");
  };

  group
    .command("create")
    .description("Creates PREFIX-orders and PREFIX-accounts. Existing tables are not changed.")
    .option(
      "--buckets <n>",
      "number of buckets for orders, which cannot be changed later (default: 16)",
      readNumberBetween(1, MAX_BUCKETS),
    )
    .addHelpText("after", HELP)
    .action(async ({ buckets }: { readonly buckets?: number }, command: Command) => {
      const prefix = requirePrefix(command);
      const environment = readEnvironment(context.env);
      const { createDynamodbStore, createDynamodbTables } = await import("../../stores/dynamodb/index.ts");
      await createDynamodbTables({ prefix, ...(buckets === undefined ? {} : { buckets }) }).catch(
        explain(prefix),
      );
      const store = createDynamodbStore({ prefix });
      await store.accounts.recordEnvironment(environment).finally(store.close);
      context.terminal.log(`The tables ${prefix}-orders and ${prefix}-accounts are ready.`);
    });

  group
    .command("delete")
    .description("Deletes both tables with all their data.")
    .requiredOption("--yes", "confirm that all orders, accounts and keys in them are deleted")
    .addHelpText("after", HELP)
    .action(async (_flags: object, command: Command) => {
      const prefix = requirePrefix(command);
      const { deleteDynamodbTables } = await import("../../stores/dynamodb/index.ts");
      await deleteDynamodbTables({ prefix }).catch(explain(prefix));
      context.terminal.log(`Deleted the tables ${prefix}-orders and ${prefix}-accounts.`);
    });
}

function explain(prefix: string): (error: unknown) => never {
  return (error) => {
    throw explainDynamodbError(error, prefix);
  };
}

const HELP = `
Examples:
  $ AWS_ENDPOINT_URL=http://127.0.0.1:4567 store-orders tables create --dynamodb dev
  $ AWS_ENDPOINT_URL=http://127.0.0.1:4567 store-orders tables delete --dynamodb dev --yes`;
