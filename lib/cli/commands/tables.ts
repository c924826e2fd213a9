import type { Command } from "commander";
import { invalidInput } from "../../core/errors.ts";
import { type DynamodbTableNames, tableNames } from "../../stores/dynamodb/schema.ts";
import type { CommandContext } from "../context.ts";
import { chooseStore, explainDynamodbError } from "../stores.ts";

export function defineTables(group: Command, context: CommandContext): void {
  group.addHelpText("afterAll", HELP);

  async function withTables(run: (tables: DynamodbTableNames) => Promise<void>): Promise<void> {
    const { kind, location } = chooseStore(context.flags, context.env);
    if (kind !== "dynamodb") throw invalidInput("--dynamodb", "Set the prefix of the tables.");
    await run(tableNames({ prefix: location })).catch((error: unknown) => {
      throw explainDynamodbError(error, location);
    });
  }

  group
    .command("create")
    .description("Creates PREFIX-orders and PREFIX-accounts. Existing tables are not changed.")
    .action(() =>
      withTables(async (tables) => {
        const { createDynamodbTables } = await import("../../stores/dynamodb/index.ts");
        await createDynamodbTables({ tables });
        context.terminal.log(`The tables ${tables.orders} and ${tables.accounts} are ready.`);
      }),
    );

  group
    .command("delete")
    .description("Deletes both tables with all their data.")
    .requiredOption("--yes", "confirm that all orders, accounts and keys in them are deleted")
    .action(() =>
      withTables(async (tables) => {
        const { deleteDynamodbTables } = await import("../../stores/dynamodb/index.ts");
        await deleteDynamodbTables({ tables });
        context.terminal.log(`Deleted the tables ${tables.orders} and ${tables.accounts}.`);
      }),
    );
}

const HELP = `
Examples:
  $ AWS_ENDPOINT_URL=http://127.0.0.1:4567 store-orders tables create --dynamodb dev`;
