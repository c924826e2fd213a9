import { statSync } from "node:fs";
import { StoreUnavailableError } from "../../errors.ts";
import { FileMovedError } from "./errors.ts";

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
  /**
   * Throws, once the connection is closed, while another process still has a log open that was deleted: the last one
   * that closes it saves what is in it, and a new log beside it would be mistaken for it.
   */
  assertNoOtherHolder(): void;
}

/** Remembers what is under the path now; `:memory:` is under none. */
export function databaseFile(path: string): DatabaseFile {
  if (path === ":memory:") return { check() {}, checkReopening() {}, assertNoOtherHolder() {} };
  const now = {
    file: () => identityOf(path),
    log: () => identityOf(`${path}-wal`),
    index: () => identityOf(`${path}-shm`),
  };
  const [file, log, index] = [now.file(), now.log(), now.index()];
  const moved = (what: string) =>
    new StoreUnavailableError(`${path} ${what}`, { cause: new FileMovedError("Another file is open.") });

  return {
    check() {
      if (now.file() !== file) throw moved("is not the database any more that was opened.");
      if (now.log() !== log) throw moved("has lost its write-ahead log.");
    },
    checkReopening() {
      const found = now.file();
      if (found === undefined) throw moved("is gone. Put it back.");
      if (found !== file && (now.log() === log || now.index() === index)) {
        throw moved("was replaced beside the log of the one before. Remove the files with -wal and -shm.");
      }
    },
    assertNoOtherHolder() {
      if (now.file() === file && now.log() === undefined && now.index() === index) {
        throw moved("has lost its write-ahead log, which another process has open. End that process.");
      }
    },
  };
}

function identityOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
}
