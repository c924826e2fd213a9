import { CommanderError } from "commander";
import { explainIssues, InvalidInputError, NewerSchemaError, StoreUnavailableError } from "../errors.ts";

/** How a command ends. */
export const EXIT = {
  done: 0,
  /** The thing that was asked about failed: a refusal, a rejected line. */
  failed: 1,
  /** Wrong usage or configuration: the same call fails again until somebody changes it. */
  usage: 2,
  /** The store cannot be reached: the same call can succeed later. */
  unreachable: 3,
} as const;

/** A value of `EXIT`. */
export type ExitStatus = (typeof EXIT)[keyof typeof EXIT];

/**
 * The status that a thrown error ends a command with. A database of a newer version is there and well, and no later
 * try changes that: it is the configuration that has to change, so it counts as usage.
 */
export function statusOf(error: unknown): ExitStatus {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  if (error instanceof InvalidInputError || error instanceof NewerSchemaError) return EXIT.usage;
  return error instanceof StoreUnavailableError ? EXIT.unreachable : EXIT.failed;
}

/** What a person is told of an error: its message and its cause's, or a line for each issue; never a stack. */
export function messageOf(error: unknown): string {
  if (error instanceof InvalidInputError && error.issues.length > 1) {
    const lines = error.issues.map((issue) => `\n  ${explainIssues([issue])}`);
    return `${lines.length} things are wrong.${lines.join("")}`;
  }
  if (!(error instanceof Error)) return "unknown";
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}
