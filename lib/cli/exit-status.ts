import { CommanderError } from "commander";
import { isInvalidInput, isNewerSchema, isStoreUnavailable } from "../errors.ts";

/** The exit statuses of a command. */
export const EXIT = {
  success: 0,
  /** An item failed, such as a line of an import or a host of a check. */
  failed: 1,
  /** Usage or configuration error: the same command fails until someone changes it. */
  usage: 2,
  /** The store cannot be reached: the same command can succeed later. */
  unreachable: 3,
} as const;

/** A value of `EXIT`. */
export type ExitStatus = (typeof EXIT)[keyof typeof EXIT];

/** Maps a thrown error to an exit status. A database of a newer version is a usage error: a retry cannot succeed. */
export function toExitStatus(error: unknown): ExitStatus {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.success : EXIT.usage;
  if (isInvalidInput(error) || isNewerSchema(error)) return EXIT.usage;
  return isStoreUnavailable(error) ? EXIT.unreachable : EXIT.failed;
}
