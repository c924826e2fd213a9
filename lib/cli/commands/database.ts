import { statSync } from "node:fs";
import type { Command } from "commander";
import { invalidInput } from "../../core/errors.ts";
import { backUpSqlite } from "../../stores/sqlite/backup.ts";
import type { CommandContext } from "../context.ts";
import { explainFileError } from "../errors.ts";
import { printResult } from "../output.ts";
import { chooseStore, readPostgresUrl, requireDatabase, STORES } from "../stores.ts";

/** `database`: copies a database, or creates and migrates its tables. */
export function defineDatabase(group: Command, context: CommandContext): void {
  group.addHelpText("afterAll", HELP);

  group
    .command("backup")
    .description("Writes a consistent copy of the database to a new file, while it is being served.")
    .argument("<file>", "the file to create; an existing file is not overwritten")
    .action(async (file: string) => {
      const { kind, location } = chooseStore(context.flags, context.env);
      if (kind !== "sqlite") throw invalidInput(`--${STORES[kind].option}`, BACKUP_HINTS[kind]);
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

  group
    .command("migrate")
    .description("Creates the tables in a PostgreSQL database, or migrates them to this version.")
    .option("--print", "print the SQL that creates the tables, and change nothing")
    .action(async ({ print }: { print?: boolean }) => {
      const { kind, location } = chooseStore(context.flags, context.env);
      if (kind !== "postgres" && !print) throw invalidInput("--postgres", MIGRATION_HINT);
      const { migratePostgres, postgresMigrationSql } = await import("../../stores/postgres/index.ts");
      if (kind !== "postgres") return void (await context.terminal.print(postgresMigrationSql()));
      const { name: database, ...options } = readPostgresUrl(location);
      if (print) return void (await context.terminal.print(postgresMigrationSql(options)));
      await printResult(context, { database, ...(await migratePostgres(options)) });
    });
}

const ONLY_SQLITE = "Only a SQLite database can be backed up with this command.";
const BACKUP_HINTS = {
  postgres: `${ONLY_SQLITE} For PostgreSQL, use pg_dump.`,
  dynamodb: `${ONLY_SQLITE} For DynamoDB, use point-in-time recovery.`,
};

const MIGRATION_HINT =
  "Only the tables of a PostgreSQL database are migrated with this command. A SQLite database is migrated when it is opened.";

const HELP = `
Examples:
  $ store-orders database backup /var/backups/store-orders-2026-11-20.db
  $ store-orders database backup copy.db --database /var/lib/store-orders/store-orders.db
  $ store-orders database migrate --postgres postgres://owner@localhost/shop
  $ store-orders database migrate --print > store-orders.sql

A copy contains the hashes of all keys, and only its owner can read it.`;

function isSystemError(error: unknown): boolean {
  return error instanceof Error && "syscall" in error;
}
