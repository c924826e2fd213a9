import { statSync } from "node:fs";
import type { Command } from "commander";
import { invalidInput } from "../../errors.ts";
import { type CommandContext, globalFlags } from "../context.ts";
import { EXIT } from "../exit-status.ts";
import { requireDatabase } from "../open-store.ts";
import { printResult } from "../results.ts";
import { chooseStore } from "../settings.ts";
import { explainFileError } from "../system-error.ts";

/** `database`: the SQLite database as a file. */
export function addDatabaseCommands(parent: Command, context: CommandContext): void {
  const group = parent
    .command("database")
    .description("Backs up the SQLite database.")
    .addHelpText("after", HELP);

  group
    .command("backup")
    .description("Writes a consistent copy of the database to a new file, while it is being served.")
    .argument("<file>", "the file to create; an existing file is not overwritten")
    .addHelpText("after", HELP)
    .action(async (file: string, _flags: object, command: Command) => {
      const choice = chooseStore(globalFlags(command), context.env);
      if (choice.kind === "dynamodb") throw invalidInput("--dynamodb", DYNAMODB_HINT);
      requireDatabase(choice.path);
      const { backUpSqlite } = await import("../../stores/sqlite/backup.ts");
      const result = await backUpSqlite({ path: choice.path, to: file }).catch((error: unknown) => {
        throw isSystemError(error) ? invalidInput(file, explainFileError(error, "written")) : error;
      });
      if (!result.ok) {
        throw invalidInput(
          file,
          "The file already exists, and was not changed. Delete it, or name another file.",
        );
      }
      await printResult(context, command, {
        database: choice.path,
        backup: file,
        bytes: statSync(file).size,
      });
      context.exit(EXIT.success);
    });
}

const DYNAMODB_HINT =
  "Only a SQLite database can be backed up with this command. For DynamoDB, use point-in-time recovery.";

const HELP = `
Examples:
  $ store-orders database backup /var/backups/store-orders-2026-11-20.db
  $ store-orders database backup copy.db --database /var/lib/store-orders/store-orders.db

The copy contains the hashes of all keys, and only its owner can read it.`;

function isSystemError(error: unknown): boolean {
  return error instanceof Error && "syscall" in error;
}
