import type { Command } from "commander";
import type { Clock } from "../clock.ts";
import { ACCOUNT_ERRORS, type Refusal } from "../errors.ts";
import { EXIT, type ExitStatus } from "./exit-status.ts";
import { type OpenedStore, openStore } from "./open-store.ts";
import { chooseStore, type StoreFlags, type Variables } from "./settings.ts";
import type { Terminal } from "./terminal.ts";

/** What every command is given. */
export interface CommandContext {
  readonly terminal: Terminal;
  /** The environment's variables. */
  readonly env: Variables;
  readonly clock: Clock;
  /** Resolves when the process is asked to stop. */
  stopped(): Promise<void>;
  /** Says how the command ended, where it is not `EXIT.done`. */
  exit(status: ExitStatus): void;
}

/** Adds a group of commands to a parent. */
export type CommandGroup = (parent: Command, context: CommandContext) => void;

/** The options of the program itself, which every command takes. */
export interface GlobalFlags extends StoreFlags {
  readonly json?: boolean;
}

/** The global options, wherever on the line they stood. */
export function globalFlags(command: Command): GlobalFlags {
  return command.optsWithGlobals<GlobalFlags>();
}

/** Does a command's work over a store, closes the store, and keeps the status. */
export type WithStore = (
  context: CommandContext,
  command: Command,
  work: (opened: OpenedStore) => Promise<ExitStatus>,
) => Promise<void>;

/** Over the store that its options name, which has to be there. */
export const withStore: WithStore = overStore({ makes: false });

/** Over the store that its options name; a database is made where there is none. */
export const withNewStore: WithStore = overStore({ makes: true });

function overStore(options: { readonly makes: boolean }): WithStore {
  return async (context, command, work) => {
    const opened = await openStore(chooseStore(globalFlags(command), context.env), options);
    try {
      context.exit(await work(opened));
    } finally {
      await opened.store.close();
    }
  };
}

/** Tells why a change was not made. */
export function refuse({ terminal }: CommandContext, subject: string, { refused }: Refusal): ExitStatus {
  terminal.tell(`error: ${subject}: ${ACCOUNT_ERRORS[refused]}`);
  return EXIT.failed;
}
