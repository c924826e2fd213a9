/** Each command's file is loaded only when the command is called, with everything that it imports. */
import { createRequire } from "node:module";
import { setTimeout as sleep } from "node:timers/promises";
import { Command, CommanderError } from "commander";
import { systemClock } from "../core/time.ts";
import type { CommandContext, DefineCommand, GlobalFlags } from "./context.ts";
import {
  type ErrorReport,
  EXIT,
  type ExitStatus,
  explainMissingPackage,
  formatErrorReport,
  toErrorReport,
  toExitStatus,
  toPrinted,
  wantsJson,
} from "./errors.ts";
import type { EnvironmentVariables } from "./settings.ts";
import { POOL_OPTION, STORE_NAMES, STORE_OPTIONS, STORES, type StoreName } from "./stores.ts";
import { createTerminal, type Streams, type Terminal } from "./terminal.ts";

interface CommandEntry {
  readonly description: string;
  /** The kinds of store that the command uses. Its help shows only their options. @default all */
  readonly stores?: readonly StoreName[];
  /** True if the command reads the plans of accounts. The help of others does not show `--plans`. @default false */
  readonly plans?: boolean;
  load(): Promise<DefineCommand>;
}

const COMMANDS: Readonly<Record<string, CommandEntry>> = {
  serve: {
    description: "Serves the API. SIGTERM, SIGINT and SIGHUP drain requests in flight (8 s): exit status 0.",
    plans: true,
    load: async () => (await import("./commands/serve.ts")).defineServe,
  },
  health: {
    description: "Asks the server that 'serve' runs on this machine whether it answers, for a health check.",
    stores: [],
    load: async () => (await import("./commands/health.ts")).defineHealth,
  },
  console: {
    description: "Serves a page on this machine that shows and manages accounts, orders and domains.",
    plans: true,
    load: async () => (await import("./commands/console.ts")).defineConsole,
  },
  accounts: {
    description: "Manages accounts and their plans.",
    plans: true,
    load: async () => (await import("./commands/accounts.ts")).defineAccounts,
  },
  keys: {
    description: "Manages API keys.",
    load: async () => (await import("./commands/keys.ts")).defineKeys,
  },
  orders: {
    description: "Manages, imports and exports orders.",
    load: async () => (await import("./commands/orders.ts")).defineOrders,
  },
  changes: {
    description: "Shows the changes of orders that have not been delivered, and delivers them again.",
    load: async () => (await import("./commands/changes.ts")).defineChanges,
  },
  database: {
    description: "Checks a database, backs up SQLite, migrates PostgreSQL, and switches the outbox.",
    plans: true,
    load: async () => (await import("./commands/database.ts")).defineDatabase,
  },
  domains: {
    description: "Prints and verifies the DNS records of custom domains.",
    stores: [],
    load: async () => (await import("./commands/domains.ts")).defineDomains,
  },
  tables: {
    description: "Creates and deletes the DynamoDB tables of --dynamodb PREFIX. A stack creates its own.",
    stores: ["dynamodb"],
    load: async () => (await import("./commands/tables.ts")).defineTables,
  },
  smoke: {
    description: "Tests a deployed service: list, headers, limits, 401, readiness, and a cancel.",
    stores: [],
    load: async () => (await import("./commands/smoke.ts")).defineSmoke,
  },
  openapi: {
    description: "Prints the OpenAPI 3.1 document.",
    stores: [],
    plans: true,
    load: async () => (await import("./commands/openapi.ts")).defineOpenApi,
  },
};

export interface ProcessIo extends Streams {
  readonly argv: readonly string[];
  readonly env: EnvironmentVariables;
  waitForStop(): Promise<string>;
  /** @default a timer */
  readonly wait?: CommandContext["wait"];
}

/** Runs one command and returns its exit status. Never rejects: every error is printed. */
export async function runProgram(io: ProcessIo): Promise<ExitStatus> {
  const { argv, env, waitForStop, wait = sleep } = io;
  const terminal = createTerminal(io, env);
  const json = wantsJson(argv);
  let status: ExitStatus = EXIT.success;
  const exit = (newStatus: ExitStatus) => {
    status = newStatus;
  };
  const fail = (report: ErrorReport, newStatus: ExitStatus = EXIT.failed) => {
    terminal.log(formatErrorReport(report, json));
    status = newStatus;
  };
  try {
    // The manifest is two folders above this file, in the sources as in the build.
    const { version }: { version: string } = createRequire(import.meta.url)("../../package.json");
    const program = createProgram(terminal, version, json);
    for (const [name, { description }] of Object.entries(COMMANDS))
      program.command(name).description(description);
    program.hook("preSubcommand", async (_program, command) => {
      const entry = COMMANDS[command.name()];
      if (entry === undefined) return;
      hideUnusedOptions(program, entry);
      const define = await entry.load();
      const flags = program.opts<GlobalFlags>();
      define(command, { terminal, env, clock: systemClock, flags, version, waitForStop, wait, exit, fail });
    });
    // `help NAME` would show a command that is not loaded.
    const args = argv[0] === "help" ? [...argv.slice(1), "--help"] : argv;
    await program.parseAsync(args, { from: "user" });
  } catch (thrown) {
    const error = explainMissingPackage(thrown);
    exit(toExitStatus(error));
    // Commander has already printed its own errors as text, and the output of --help and --version.
    const isPrinted = error instanceof CommanderError && (!json || status === EXIT.success);
    if (!isPrinted) fail(toErrorReport(error), status);
  }
  return status;
}

function createProgram({ print, log }: Terminal, version: string, json: boolean): Command {
  const program = new Command("store-orders")
    .description("Serves a shop's orders API, and manages its accounts, keys, orders and domains.")
    .version(version, "--version", "print the version");
  for (const option of STORE_OPTIONS) program.option(...option);
  return program
    .option("--plans <file>", "add the plans of this file to the standard ones (STORE_ORDERS_PLANS)")
    .option("--json", "print the result as JSON, and errors as JSON on standard error")
    .addHelpText("after", HELP)
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => void print(text),
      writeErr: (text) => {
        if (!json) log(toPrinted(text.replace(/\n$/, "")));
      },
    })
    .showHelpAfterError("(add --help for usage)")
    .exitOverride();
}

const HELP = `
Examples:
  $ store-orders serve --demo
  $ store-orders accounts create acme --plan pro

Exit status: 0 success, 1 an item failed or was rejected, 2 usage or configuration error, 3 the store cannot be reached
or the server cannot listen on its address: try again later.
Flags take precedence over environment variables. STORE_ORDERS_ENVIRONMENT (test or live) sets the environment
segment of new keys (default: that of the first key; test if there is none).`;

function hideUnusedOptions(program: Command, { stores = STORE_NAMES, plans = false }: CommandEntry): void {
  const others = STORE_NAMES.filter((name) => !stores.includes(name));
  const unused: string[] = others.map((name) => STORES[name].option);
  if (!stores.includes("postgres")) unused.push(POOL_OPTION);
  if (!plans) unused.push("plans");
  for (const option of program.options) if (unused.includes(option.name())) option.hideHelp();
}
