/**
 * The command line program. Each group of commands is a function that takes its parent command and the shared context;
 * to add a group, add it to `GROUPS`.
 */
import { readFileSync } from "node:fs";
import { findPackageJSON } from "node:module";
import { Command, CommanderError } from "commander";
import { systemClock } from "../clock.ts";
import { escapeControls } from "../domains/escape-controls.ts";
import { addAccountCommands } from "./commands/accounts.ts";
import { addConsoleCommand } from "./commands/console.ts";
import { addDatabaseCommands } from "./commands/database.ts";
import { addDomainCommands } from "./commands/domains.ts";
import { addKeyCommands } from "./commands/keys.ts";
import { addOpenApiCommand } from "./commands/openapi.ts";
import { addOrderCommands } from "./commands/orders.ts";
import { addReleaseCommand } from "./commands/release.ts";
import { addServeCommand } from "./commands/serve.ts";
import { addSmokeCommand } from "./commands/smoke.ts";
import { addTableCommands } from "./commands/tables.ts";
import type { CommandContext, CommandGroup } from "./context.ts";
import { type ErrorReport, formatErrorReport, toErrorReport, wantsJson } from "./error-report.ts";
import { EXIT, type ExitStatus, toExitStatus } from "./exit-status.ts";
import { HELP_FORMAT } from "./help-format.ts";
import { explainMissingPackage } from "./missing-package.ts";
import { explainNpmOptions } from "./npm-options.ts";
import { DEFAULT_DATABASE, type EnvironmentVariables } from "./settings.ts";
import { createTerminal, type Streams, type Terminal } from "./terminal.ts";

const GROUPS: readonly CommandGroup[] = [
  addServeCommand,
  addConsoleCommand,
  addAccountCommands,
  addKeyCommands,
  addOrderCommands,
  addDatabaseCommands,
  addDomainCommands,
  addTableCommands,
  addReleaseCommand,
  addSmokeCommand,
  addOpenApiCommand,
];

/** What the program needs from its process. */
export interface ProcessIo extends Streams {
  /** The arguments after the program's name. */
  readonly argv: readonly string[];
  readonly env: EnvironmentVariables;
  /** Resolves when the process receives a signal to stop, with its name. */
  waitForStop(): Promise<string>;
}

/** Runs one command and returns its exit status. Never rejects: every error is printed. */
export async function runProgram(io: ProcessIo): Promise<ExitStatus> {
  const { argv, env, waitForStop } = io;
  const terminal = createTerminal(io);
  let status: ExitStatus = EXIT.success;
  const exit = (newStatus: ExitStatus) => {
    status = newStatus;
  };
  const json = wantsJson(argv);
  const reportError = (report: ErrorReport) => terminal.log(formatErrorReport(report, json));
  let npmHint: string | undefined;
  const logNpmHint = () => {
    if (npmHint !== undefined) terminal.log(npmHint);
  };
  try {
    const program = createProgram(terminal, json);
    const clock = systemClock;
    const context: CommandContext = { terminal, env, waitForStop, reportError, exit, clock };
    for (const addGroup of GROUPS) addGroup(program, context);
    npmHint = explainNpmOptions([program, ...program.commands], env);
    program.hook("preAction", logNpmHint);
    await program.parseAsync(argv, { from: "user" });
    return status;
  } catch (thrown) {
    const error = explainMissingPackage(thrown);
    const status = toExitStatus(error);
    // Commander has already printed its own errors as text, and what --help and --version print.
    const isPrinted = error instanceof CommanderError && (!json || status === EXIT.success);
    if (!isPrinted) reportError(toErrorReport(error));
    else if (status === EXIT.usage) logNpmHint();
    return status;
  }
}

function createProgram({ print, log }: Terminal, json: boolean): Command {
  return new Command("store-orders")
    .description("Serves a shop's orders API, and manages its accounts, keys, orders and domains.")
    .version(readVersion(), "--version", "print the version")
    .option(
      "--database <path>",
      `use this SQLite database (STORE_ORDERS_DATABASE; default: ${DEFAULT_DATABASE})`,
    )
    .option("--dynamodb <prefix>", "use the tables PREFIX-orders and PREFIX-accounts (STORE_ORDERS_DYNAMODB)")
    .option("--json", "print the result as JSON, and errors as JSON on standard error")
    .addHelpText("after", HELP)
    .configureHelp(HELP_FORMAT)
    .configureOutput({
      writeOut: (text) => void print(text),
      writeErr: (text) => {
        // The text can repeat an argument.
        if (!json) log(escapeControls(text.replace(/\n$/, "")));
      },
    })
    .showHelpAfterError("(add --help for usage)")
    .exitOverride();
}

const HELP = `
Examples:
  $ store-orders serve --demo
  $ store-orders accounts create acme --plan pro
  $ store-orders keys issue --account acme
  $ store-orders orders import orders.ndjson --rejects rejects.ndjson

Exit status: 0 success, 1 an item failed or was rejected, 2 usage or configuration error, 3 the store cannot be reached.
Flags take precedence over environment variables. STORE_ORDERS_ENVIRONMENT (test or live; default: test) sets the
environment segment of new keys.`;

/** Finds the package's manifest from the source tree and from the build, which lie at different depths. */
function readVersion(): string {
  const manifest = findPackageJSON(import.meta.url);
  if (manifest === undefined) return "unknown";
  return (JSON.parse(readFileSync(manifest, "utf8")) as { version: string }).version;
}
