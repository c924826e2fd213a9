/**
 * The command line as a table of contents. A group of commands is one function that takes its parent and the shared
 * context; another one is a line in `GROUPS`.
 */
import { readFileSync } from "node:fs";
import { findPackageJSON } from "node:module";
import { Command, CommanderError } from "commander";
import { systemClock } from "../clock.ts";
import { addAccountCommands } from "./commands/accounts.ts";
import { addDomainCommands } from "./commands/domains.ts";
import { addKeyCommands } from "./commands/keys.ts";
import { addOpenApiCommand } from "./commands/openapi.ts";
import { addOrderCommands } from "./commands/orders.ts";
import { addServeCommand } from "./commands/serve.ts";
import { addTableCommands } from "./commands/tables.ts";
import type { CommandContext, CommandGroup } from "./context.ts";
import { EXIT, type ExitStatus, messageOf, statusOf } from "./exit-status.ts";
import { DEFAULT_DATABASE, type Variables } from "./settings.ts";
import { createTerminal, type Streams, type Terminal } from "./terminal.ts";

const GROUPS: readonly CommandGroup[] = [
  addServeCommand,
  addAccountCommands,
  addKeyCommands,
  addOrderCommands,
  addDomainCommands,
  addTableCommands,
  addOpenApiCommand,
];

/** What the program takes from the process that it runs in. */
export interface ProcessIo extends Streams {
  /** What stood on the command line after the program's name. */
  readonly argv: readonly string[];
  readonly env: Variables;
  /** Resolves when the process is asked to stop. */
  stopped(): Promise<void>;
}

/** Runs one command. Never rejects: whatever happens is told in a line and a status. */
export async function runProgram(surroundings: ProcessIo): Promise<ExitStatus> {
  const { argv: words, env: variables, stopped } = surroundings;
  const terminal = createTerminal(surroundings);
  let status: ExitStatus = EXIT.done;
  const exit = (ended: ExitStatus) => {
    status = ended;
  };
  try {
    const program = createProgram(terminal);
    const context: CommandContext = { terminal, env: variables, stopped, exit, clock: systemClock };
    for (const add of GROUPS) add(program, context);
    await program.parseAsync(words, { from: "user" });
    return status;
  } catch (error) {
    if (!(error instanceof CommanderError)) terminal.tell(`error: ${messageOf(error)}`);
    return statusOf(error);
  }
}

function createProgram({ print, tell }: Terminal): Command {
  return new Command("store-orders")
    .description("A store's orders API: serve it, and run it from a shell.")
    .version(version(), "--version")
    .option("--database <path>", `the embedded database (STORE_ORDERS_DATABASE; default ${DEFAULT_DATABASE})`)
    .option("--dynamodb <prefix>", "the tables PREFIX-orders and PREFIX-accounts (STORE_ORDERS_DYNAMODB)")
    .option("--json", "the result as JSON")
    .addHelpText("after", HELP)
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => void print(text),
      writeErr: (text) => tell(text.replace(/\n$/, "")),
    })
    .showHelpAfterError("(--help tells more)")
    .exitOverride();
}

const HELP = `
Examples:
  $ store-orders serve --demo
  $ store-orders accounts create acme --plan pro
  $ store-orders keys issue --account acme
  $ store-orders orders import orders.ndjson --rejects rejects.ndjson

Exit status: 0 done, 1 refused or rejected, 2 wrong usage or configuration, 3 the store cannot be reached.
Flags win over the environment; STORE_ORDERS_ENVIRONMENT (test or live) is the middle of the keys that are issued.`;

/** Read from the package, however deep in it the program lies: in the source or in the build. */
function version(): string {
  const manifest = findPackageJSON(import.meta.url);
  if (manifest === undefined) return "unknown";
  return (JSON.parse(readFileSync(manifest, "utf8")) as { version: string }).version;
}
