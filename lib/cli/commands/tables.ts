import type { Command } from "commander";
import { invalidInput } from "../../core/errors.ts";
import { MAX_BUCKETS } from "../../stores/dynamodb/schema.ts";
import { readNumberBetween } from "../arguments.ts";
import type { CommandContext } from "../context.ts";
import { readEnvironment } from "../settings.ts";
import { chooseStore, explainDynamodbError } from "../stores.ts";

/** `tables`: DynamoDB tables for emulators and experiments. A deployed stack creates its own. */
export function defineTables(group: Command, context: CommandContext): void {
  group.addHelpText("afterAll", HELP);

  /** Runs a command on the tables that the options name. */
  async function withPrefix(run: (prefix: string) => Promise<void>): Promise<void> {
    const { kind, location } = chooseStore(context.flags, context.env);
    if (kind !== "dynamodb") throw invalidInput("--dynamodb", "Set the prefix of the tables.");
    await run(location).catch((error: unknown) => {
      throw explainDynamodbError(error, location);
    });
  }

  group
    .command("create")
    .description("Creates PREFIX-orders and PREFIX-accounts. Existing tables are not changed.")
    .option(
      "--buckets <n>",
      "number of buckets for orders, which cannot be changed later (default: 16)",
      readNumberBetween(1, MAX_BUCKETS),
    )
    .action(({ buckets }: { readonly buckets?: number }) =>
      withPrefix(async (prefix) => {
        const environment = readEnvironment(context.env);
        const { createDynamodbStore, createDynamodbTables } = await import("../../stores/dynamodb/index.ts");
        await createDynamodbTables({ prefix, ...(buckets === undefined ? {} : { buckets }) });
        const store = createDynamodbStore({ prefix });
        await store.accounts.recordEnvironment(environment).finally(store.close);
        context.terminal.log(`The tables ${prefix}-orders and ${prefix}-accounts are ready.`);
      }),
    );

  group
    .command("delete")
    .description("Deletes both tables with all their data.")
    .requiredOption("--yes", "confirm that all orders, accounts and keys in them are deleted")
    .action(() =>
      withPrefix(async (prefix) => {
        const { deleteDynamodbTables } = await import("../../stores/dynamodb/index.ts");
        await deleteDynamodbTables({ prefix });
        context.terminal.log(`Deleted the tables ${prefix}-orders and ${prefix}-accounts.`);
      }),
    );
}

const HELP = `
Examples:
  $ AWS_ENDPOINT_URL=http://127.0.0.1:4567 store-orders tables create --dynamodb dev
  $ AWS_ENDPOINT_URL=http://127.0.0.1:4567 store-orders tables delete --dynamodb dev --yes`;
