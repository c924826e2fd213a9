import type { Command } from "commander";
import { type AccountFailure, explainAccountError } from "../accounts/account.ts";
import { escapeLine } from "../core/text.ts";
import type { Clock } from "../core/time.ts";
import type { ErrorReport, ExitStatus } from "./errors.ts";
import type { EnvironmentVariables } from "./settings.ts";
import { chooseStore, type OpenedStore, type OpenOptions, STORES, type StoreFlags } from "./stores.ts";
import type { Terminal } from "./terminal.ts";

export interface CommandContext {
  readonly terminal: Terminal;
  readonly env: EnvironmentVariables;
  readonly clock: Clock;
  readonly flags: GlobalFlags;
  readonly version: string;
  waitForStop(): Promise<string>;
  /** Resolves after a time, in milliseconds. Rejects when the signal is aborted. */
  wait(ms: number, value?: undefined, options?: { readonly signal: AbortSignal }): Promise<unknown>;
  exit(status: ExitStatus): void;
  /** Prints an error, with `--json` as one line of JSON, and sets the exit status. @default EXIT.failed */
  fail(report: ErrorReport, status?: ExitStatus): void;
}

export type DefineCommand = (command: Command, context: CommandContext) => void;

export interface GlobalFlags extends StoreFlags {
  readonly plans?: string;
  readonly json?: boolean;
}

/** Runs a command on the store that the options name. A missing database is an error. */
export const withStore = createWithStore({ create: false });

export const withStoreOrCreate = createWithStore({ create: true });

function createWithStore(options: Pick<OpenOptions, "create">) {
  return async (
    context: CommandContext,
    run: (opened: OpenedStore) => Promise<unknown>,
    log?: OpenOptions["warn"],
  ): Promise<void> => {
    const { flags, env, terminal } = context;
    const warn = log ?? ((message: string) => terminal.log(escapeLine(`Warning: ${message}`)));
    const { kind, location, poolSize } = chooseStore(flags, env);
    const opened = await STORES[kind].open(location, { ...options, warn, poolSize });
    try {
      // The name can be mistyped. With --json, a program reads standard error, except that of a service.
      if (opened.isNew && (log !== undefined || !flags.json))
        warn(`There was no store at ${opened.name}, so an empty one was created.`);
      await run(opened);
    } catch (error) {
      throw opened.explain?.(error) ?? error;
    } finally {
      await opened.store.close();
    }
  };
}

/** Returns a signal that aborts when the process receives one to stop, with its name as the reason. */
export function stopSignal({ waitForStop }: CommandContext): AbortSignal {
  const stop = new AbortController();
  void waitForStop().then((name) => stop.abort(name));
  return stop.signal;
}

export function failWithAccountError({ fail }: CommandContext, id: string, failure: AccountFailure): void {
  const [, kind] = /^(\w+)_not_found$/.exec(failure.code) ?? [];
  const advice = kind === undefined ? "" : ` '${kind}s list' shows all.`;
  fail({ code: failure.code, message: `${id}: ${explainAccountError(failure)}${advice}` });
}
