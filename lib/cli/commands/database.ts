import { createReadStream, createWriteStream, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { Argument, type Command } from "commander";
import { invalidInput, isStoreUnavailable } from "../../core/errors.ts";
import { escapeLine, toPrintedJson } from "../../core/text.ts";
import { explainFileError } from "../../files/read.ts";
import { type CheckProgress, checkDatabase, type Finding } from "../../stores/check.ts";
import { backUpSqlite, isLogEmpty } from "../../stores/sqlite/backup.ts";
import { isDamaged, isIncomplete } from "../../stores/sqlite/errors.ts";
import { createSqliteStore } from "../../stores/sqlite/index.ts";
import { readOutputFile } from "../arguments.ts";
import { type CommandContext, stopSignal, withStore } from "../context.ts";
import { EXIT } from "../errors.ts";
import { createProgress, formatResult, printEither, printResult, type Result } from "../output.ts";
import { readPlans } from "../settings.ts";
import {
  chooseStore,
  explainDynamodbError,
  readPostgresUrl,
  requireDatabase,
  STORES,
  type StoreChoice,
  shownLocation,
} from "../stores.ts";
import { outboxOf } from "./changes.ts";

export function defineDatabase(group: Command, context: CommandContext): void {
  group.addHelpText("afterAll", HELP);

  async function check({ kind, location }: StoreChoice, subject: Result, stop?: AbortSignal): Promise<void> {
    const { env, flags, terminal, clock } = context;
    const plans = await readPlans(flags, env);
    const findings: Finding[] = [];
    const report = (finding: Finding) => void (findings.length < MAX_FINDINGS && findings.push(finding));
    const initial = { orders: 0, accounts: 0, findings: 0 };
    const format = "{orders} orders, {accounts} accounts, {findings} findings";
    const progress = await createProgress(terminal, { format, initial });
    const update = (counts: CheckProgress) => {
      stop?.throwIfAborted();
      progress.update({ ...counts }, 0);
    };
    const counts = await STORES[kind]
      .inspect(location)
      .then((inspection) =>
        checkDatabase(inspection, { at: clock(), plans, report, update }).finally(inspection.close),
      )
      .catch((error: unknown) => {
        throw kind === "dynamodb" ? explainDynamodbError(error, location) : error;
      })
      .finally(progress.stop);
    const { newest, ...others } = counts;
    const newestChange = newest === undefined ? newest : new Date(newest).toISOString();
    const summary = { ...subject, ...others, newestChange };
    const lines = findings.map((found) => escapeLine(`${found.subject}: ${found.problem} ${found.repair}`));
    const text = () => [...lines, formatResult(summary)].join("\n");
    await printEither(context, { ...summary, found: findings }, text);
    if (counts.findings > 0) context.exit(EXIT.failed);
  }

  async function untilStopped(run: (stop: AbortSignal) => Promise<void>): Promise<void> {
    const stop = stopSignal(context);
    await run(stop).catch((error: unknown) => {
      if (!stop.aborted) throw error;
      context.fail({ code: "stopped", message: `Stopped because of ${stop.reason}; the copy was removed.` });
    });
  }

  group
    .command("check")
    .description("Reads all of a database, also while served, and says what is wrong and how to repair it.")
    .action(() => {
      const choice = chooseStore(context.flags, context.env);
      return check(choice, { database: shownLocation(choice) });
    });

  group
    .command("rehearse")
    .description("Restores a SQLite backup beside it as a service does, checks it, and deletes it again.")
    .argument("<file>", "the backup, or a file that another tool has restored")
    .action((file: string) =>
      untilStopped(async (stop) => {
        requireDatabase(file, { argument: file });
        if (!isLogEmpty(file)) throw invalidInput(file, IN_TWO_FILES);
        const folder = createRehearsalFolder(file);
        try {
          const location = join(folder, "restored.db");
          const writtenAt = statSync(file).mtime.toISOString();
          const copy = createWriteStream(location, { mode: 0o600 });
          await pipeline(createReadStream(file), copy, { signal: stop }).catch(explainWriting(location));
          try {
            const store = createSqliteStore({ path: location, existing: true });
            await store.check().finally(store.close);
          } catch (error) {
            return context.fail({ code: "damaged_backup", message: `${file}: ${explainBackup(error)}` });
          }
          await check({ kind: "sqlite", location }, { backup: file, writtenAt }, stop);
        } finally {
          rmSync(folder, { recursive: true });
        }
      }),
    );

  group
    .command("backup")
    .description("Writes a consistent copy of the database to a new file, while it is being served.")
    .argument("<file>", "the file to create; an existing file is not overwritten", readOutputFile)
    .action((file: string) =>
      untilStopped(async (stop) => {
        const { kind, location } = chooseStore(context.flags, context.env);
        if (kind !== "sqlite") throw invalidInput(`--${STORES[kind].option}`, BACKUP_HINTS[kind]);
        requireDatabase(location);
        const options = { path: location, to: file, signal: stop };
        const result = await backUpSqlite(options).catch(explainWriting(file));
        if (!result.ok) throw invalidInput(file, FILE_EXISTS);
        await printResult(context, { database: location, backup: file, bytes: statSync(file).size });
      }),
    );

  group
    .command("migrate")
    .description("Creates the tables in a PostgreSQL database, or migrates them to this version.")
    .option("--print", "print the SQL that creates or migrates the tables, and change nothing")
    .action(async ({ print }: { print?: boolean }) => {
      const { flags, env, terminal } = context;
      const { kind, location, poolSize } = chooseStore(flags, env);
      if (kind !== "postgres" && !print) throw invalidInput("--postgres", MIGRATION_HINT);
      const postgres = await import("../../stores/postgres/index.ts");
      if (kind !== "postgres") return void (await terminal.print(postgres.postgresMigrationSql()));
      const { name: database, ...options } = readPostgresUrl(location);
      if (print)
        return void (await terminal.print(postgres.postgresMigrationSql({ schema: options.schema })));
      const onBlocked = (message: string) =>
        terminal.log(flags.json ? toPrintedJson({ code: "blocked", message }) : message);
      const migrated = await postgres.migratePostgres({ ...options, poolSize, onBlocked });
      await printResult(context, { database, ...migrated });
    });

  group
    .command("outbox")
    .description("Shows or switches the outbox, which keeps changes of orders until they are delivered.")
    .addArgument(new Argument("[state]", "switch it on or off").choices(["on", "off"]))
    .action((state?: "on" | "off") =>
      withStore(context, async ({ store }) => {
        const outbox = outboxOf(store);
        if (state !== undefined) await outbox.switch(state === "on");
        const { oldest, ...counts } = await outbox.backlog();
        const since = oldest === undefined ? {} : { oldest: new Date(oldest).toISOString() };
        await printResult(context, { outbox: (await outbox.isOn()) ? "on" : "off", ...counts, ...since });
      }),
    );
}

/** Says why the copy of a backup cannot be opened. Throws an error that is not about what is in it, such as a full disk. */
function explainBackup(error: unknown): string {
  if (isStoreUnavailable(error) && (isDamaged(error.cause) || isIncomplete(error.cause)))
    return `The file is damaged: ${error.cause.message}.`;
  // An error that SQLite has not reported: it is empty, or a database of another program.
  if (isStoreUnavailable(error) && error.cause === undefined) return error.message;
  throw error;
}

/** Returns a function that throws an error again, one of the system as one of a file that is written. */
const explainWriting = (file: string) => (error: unknown) => {
  const isOfSystem = error instanceof Error && "syscall" in error;
  throw isOfSystem ? invalidInput(file, explainFileError(error, "written")) : error;
};

/** Creates a folder beside the backup, or that of temporary files if the backup is where nothing can be written. */
function createRehearsalFolder(file: string): string {
  try {
    return mkdtempSync(`${resolve(file)}.rehearsal-`);
  } catch {
    return mkdtempSync(join(tmpdir(), "store-orders-rehearsal-"));
  }
}

const IN_TWO_FILES =
  "The -wal file beside it has changes that it lacks. Write both into one file with 'database backup'.";
const FILE_EXISTS = "The file already exists, and was not changed. Delete it, or name another file.";
const BACKUP_HINTS = {
  postgres: "This backs up SQLite only. For PostgreSQL, use pg_dump or pg_basebackup.",
  dynamodb: "This backs up SQLite only. For DynamoDB, use point-in-time recovery.",
};
const MIGRATION_HINT = "This migrates PostgreSQL only. A SQLite database is migrated when it is opened.";

const HELP = `
Examples:
  $ store-orders database backup copy.db --database /var/lib/store-orders/store-orders.db
  $ store-orders database migrate --print > store-orders.sql

A copy contains the hashes of all keys, and only its owner can read it.`;

/** The most findings that are listed. All of them are counted. */
const MAX_FINDINGS = 1_000;
