import type { Command } from "commander";
import type { AccountFailure } from "../accounts/account.ts";
import type { Clock } from "../clock.ts";
import { ACCOUNT_ERRORS } from "../errors.ts";
import type { ErrorReport } from "./error-report.ts";
import { EXIT, type ExitStatus } from "./exit-status.ts";
import { type OpenedStore, openStore } from "./open-store.ts";
import { chooseStore, type EnvironmentVariables, readEnvironment, type StoreFlags } from "./settings.ts";
import { requireEnvironment } from "./store-environment.ts";
import type { Terminal } from "./terminal.ts";

/** What every command receives. */
export interface CommandContext {
  readonly terminal: Terminal;
  readonly env: EnvironmentVariables;
  readonly clock: Clock;
  /** Resolves when the process receives a signal to stop, with its name. */
  waitForStop(): Promise<string>;
  /** Prints an error: with `--json` as one line of JSON. */
  reportError(report: ErrorReport): void;
  /** Sets the exit status, which is `EXIT.success` by default. */
  exit(status: ExitStatus): void;
}

/** Adds a group of commands to a parent. */
export type CommandGroup = (parent: Command, context: CommandContext) => void;

/** The global options, which every command accepts. */
export interface GlobalFlags extends StoreFlags {
  readonly json?: boolean;
}

/** Reads the global options, which may be given before or after the command's name. */
export function globalFlags(command: Command): GlobalFlags {
  return command.optsWithGlobals<GlobalFlags>();
}

/** Opens a store, runs a command on it, closes the store, and sets the exit status that the command returns. */
export type WithStore = (
  context: CommandContext,
  command: Command,
  run: (opened: OpenedStore) => Promise<ExitStatus>,
) => Promise<void>;

/** Uses the store that the options name. A missing database is an error. */
export const withStore: WithStore = createWithStore({ create: false });

/** Uses the store that the options name. A missing database is created. */
export const withStoreOrCreate: WithStore = createWithStore({ create: true });

function createWithStore(options: { readonly create: boolean }): WithStore {
  return async (context, command, run) => {
    const opened = await openStore(chooseStore(globalFlags(command), context.env), options, context.terminal);
    try {
      if (opened.isNew) await requireEnvironment(opened.store, readEnvironment(context.env));
      context.exit(await run(opened));
    } catch (error) {
      throw opened.explain(error);
    } finally {
      await opened.store.close();
    }
  };
}

/** Prints why an account or key was not changed, and returns the exit status for it. */
export function reportAccountError(
  { reportError }: CommandContext,
  subject: string,
  failure: AccountFailure,
): ExitStatus {
  const successor =
    failure.code === "key_already_rotated" ? ` Use its successor, ${failure.successorId}.` : "";
  reportError({ code: failure.code, message: `${subject}: ${ACCOUNT_ERRORS[failure.code]}${successor}` });
  return EXIT.failed;
}
