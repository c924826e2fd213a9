import { statSync } from "node:fs";
import type { Command } from "commander";
import { invalidInput } from "../../core/errors.ts";
import { backUpSqlite } from "../../stores/sqlite/backup.ts";
import type { CommandContext } from "../context.ts";
import { explainFileError } from "../errors.ts";
import { printResult } from "../output.ts";
import { chooseStore, requireDatabase } from "../stores.ts";

/** `database`: the SQLite database as a file. */
export function defineDatabase(group: Command, context: CommandContext): void {
  group.addHelpText("afterAll", HELP);

  group
    .command("backup")
    .description("Writes a consistent copy of the database to a new file, while it is being served.")
    .argument("<file>", "the file to create; an existing file is not overwritten")
    .action(async (file: string) => {
      const { kind, location } = chooseStore(context.flags, context.env);
      if (kind !== "sqlite") throw invalidInput("--dynamodb", DYNAMODB_HINT);
      requireDatabase(location);
      const result = await backUpSqlite({ path: location, to: file }).catch((error: unknown) => {
        throw isSystemError(error) ? invalidInput(file, explainFileError(error, "written")) : error;
      });
      if (!result.ok) {
        throw invalidInput(
          file,
          "The file already exists, and was not changed. Delete it, or name another file.",
        );
      }
      await printResult(context, {
        database: location,
        backup: file,
        bytes: statSync(file).size,
      });
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
