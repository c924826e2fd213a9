import { statSync } from "node:fs";
import { StoreUnavailableError } from "../errors.ts";
import { FileMovedError } from "./sqlite-errors.ts";

/**
 * Where a path leads, compared with the files that a connection has open. SQLite does not look: it goes on with files
 * that were deleted or replaced, and all that it says is on disk is gone with the process.
 */
export interface DatabaseFile {
  /** Throws where the path leads to other files than those that are open, or to none. */
  check(): void;
  /**
   * Throws where what is under the path now must not be opened: there is nothing, or another database beside the log
   * of this one, which SQLite would write into it.
   */
  checkReopening(): void;
}

/** Remembers what is under the path now; `:memory:` is under none. */
export function databaseFile(path: string): DatabaseFile {
  if (path === ":memory:") return { check() {}, checkReopening() {} };
  const [file, log] = [identityOf(path), identityOf(`${path}-wal`)];
  const moved = (what: string) =>
    new StoreUnavailableError(`${path} ${what}`, { cause: new FileMovedError("Another file is open.") });

  return {
    check() {
      if (identityOf(path) !== file) throw moved("is not the database any more that was opened.");
      if (identityOf(`${path}-wal`) !== log) throw moved("has lost its write-ahead log.");
    },
    checkReopening() {
      const now = identityOf(path);
      if (now === undefined) throw moved("is gone. Put it back.");
      if (now !== file && identityOf(`${path}-wal`) === log) {
        throw moved("was replaced beside the log of the one before. Remove the files with -wal and -shm.");
      }
    },
  };
}

function identityOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
}
