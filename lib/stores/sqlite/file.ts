import { statSync } from "node:fs";
import { StoreUnavailableError } from "../../errors.ts";
import { FileMovedError } from "./errors.ts";

/**
 * Compares what is at a path with the files that a connection has open. SQLite does not check: it keeps writing to
 * files that were deleted or replaced, and everything written there is lost with the process.
 */
export interface DatabaseFile {
  /** Throws if the path no longer leads to the open files. */
  check(): void;
  /**
   * Throws if the path must not be opened again: the file is missing, or it is another database beside the log of this
   * one, which SQLite would write into the new database.
   */
  assertReopenable(): void;
  /**
   * Call it after closing the connection. Throws if another process still has a deleted log open: the last process that
   * closes the log saves its content, so a new log must not be created before.
   */
  assertNoOtherHolder(): void;
}

/** Records the files that are at the path now. `:memory:` has none. */
export function databaseFile(path: string): DatabaseFile {
  if (path === ":memory:") return { check() {}, assertReopenable() {}, assertNoOtherHolder() {} };
  const current = {
    file: () => identityOf(path),
    log: () => identityOf(`${path}-wal`),
    index: () => identityOf(`${path}-shm`),
  };
  const [file, log, index] = [current.file(), current.log(), current.index()];
  const moved = (problem: string) =>
    new StoreUnavailableError(problem, { cause: new FileMovedError("Another file is open.") });

  return {
    check() {
      if (current.file() !== file) throw moved(`${path} was moved or replaced while it was open.`);
      if (current.log() !== log) throw moved(`The write-ahead log of ${path} was deleted.`);
    },
    assertReopenable() {
      const found = current.file();
      if (found === undefined) throw moved(`${path} was deleted or moved. Put it back.`);
      if (found !== file && (current.log() === log || current.index() === index)) {
        throw moved(`${path} was replaced, but its -wal and -shm files were not. Delete these two files.`);
      }
    },
    assertNoOtherHolder() {
      if (current.file() === file && current.log() === undefined && current.index() === index) {
        throw moved(
          `The write-ahead log of ${path} was deleted while another process uses it. Stop that process.`,
        );
      }
    },
  };
}

/** The device and inode of a file. */
function identityOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
}
