import { chmodSync, existsSync, mkdirSync, realpathSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { StoreUnavailableError } from "../../core/errors.ts";
import { systemClock } from "../../core/time.ts";
import { FileMovedError } from "./errors.ts";

/** Absolute: SQLite reads a name that begins with `file:` as a URI, and would open another file. */
export function toFileName(path: string): string {
  return path === ":memory:" ? path : resolve(path);
}

/** With `recursive`, Node's `mkdirSync` never returns below `/proc`, where Linux says that the parent is missing. */
export function createFolder(path: string): void {
  // With `--permission`, nobody may create a folder that exists, or ask about the folders above.
  if (existsSync(path)) return;
  const parent = dirname(path);
  // The root of a drive that does not exist is its own parent.
  if (parent !== path) createFolder(parent);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process may have created it.
    if (!existsSync(path)) throw error;
  }
}

/** A copy or a restored backup is often readable by everyone. Does nothing if another user owns the file. */
export function restrictAccess(path: string): void {
  for (const file of [path, `${path}-wal`, `${path}-shm`]) {
    try {
      chmodSync(file, statSync(file).mode & 0o700);
    } catch {}
  }
}

/** SQLite deletes the log of a database that is missing or empty, with the acknowledged changes in it. */
export function assertLogHasDatabase(path: string): void {
  if (path === ":memory:") return;
  const target = existsSync(path) ? realpathSync.native(path) : path;
  // The log first: whoever creates the database meanwhile writes a page of it before the log.
  const sizes = [`${target}-wal`, target].map((file) => statSync(file, { throwIfNoEntry: false })?.size ?? 0);
  if (sizes[0] === 0 || sizes[1] !== 0) return;
  throw new StoreUnavailableError(
    `${path} is missing or empty, but ${target}-wal has changes of it. Put the database back, or delete that file, too.`,
  );
}

export type DatabaseFile = ReturnType<typeof databaseFile>;

/** SQLite keeps writing to files that were deleted or replaced, and what is written there is lost with the process. */
export function databaseFile(path: string) {
  if (path === ":memory:") return NO_FILE;
  // SQLite keeps the log files beside the file that a symbolic link leads to.
  const target = realpathSync.native(path);
  const [logPath, shmPath] = [`${target}-wal`, `${target}-shm`];
  const [file, log, shm] = [path, logPath, shmPath].map(identityOf);
  // A database that is read where nothing can be written has neither.
  const isOpenLog = () => log !== undefined && identityOf(logPath) === log;
  const isOpenShm = () => shm !== undefined && identityOf(shmPath) === shm;
  const moved = (problem: string) =>
    new StoreUnavailableError(problem, { cause: new FileMovedError("Another file is open.") });

  // The folder of the path and, if the path is a link, that of the file.
  const folders = [...new Set([dirname(path), dirname(target)])];
  let checked: string | undefined;

  return {
    check(): void {
      checked = settledStateOf(folders);
      if (identityOf(path) !== file) throw moved(`${path} was moved or replaced while it was open.`);
      if (identityOf(logPath) !== log) throw moved(`The write-ahead log of ${path} was deleted.`);
    },
    /** Takes a fraction of the time of `check`. A file system that is mounted over a file goes unnoticed. */
    isFolderUnchanged: (): boolean => checked !== undefined && checked === settledStateOf(folders),
    /** Throws if the file is missing, or is another one beside the log of this one, which SQLite would write into it. */
    assertReopenable(): void {
      const found = identityOf(path);
      if (found === undefined) throw moved(`${path} was deleted or moved. Put it back.`);
      if (found !== file && (isOpenLog() || isOpenShm())) {
        throw moved(`${path} was replaced, but its -wal and -shm files were not. Delete these two files.`);
      }
    },
    /**
     * Call it after closing the connection. The last process that closes a deleted log saves its content, so a new log
     * must not be created before.
     */
    assertLogReleased(): void {
      if (identityOf(logPath) === undefined && isOpenShm()) {
        throw moved(
          `The write-ahead log of ${path} was deleted while another process uses it. Stop that process.`,
        );
      }
    },
  };
}

const NO_FILE = { check() {}, isFolderUnchanged: () => true, assertReopenable() {}, assertLogReleased() {} };

/** Two changes within a tick of the kernel's clock, 1 to 10 ms, can have the same time. This is twice the longest. */
const MAX_CLOCK_TICK_MS = 20;

/**
 * `undefined` if the last change is so recent that a further one could go unnoticed, and where times of folders lag.
 *
 * Checking the log would cost more. Since Linux has multigrain timestamps (6.13), a file whose times were read gets a
 * new time at the next write, and its metadata has to be flushed too. That makes a durable write a third slower.
 */
function settledStateOf(folders: readonly string[]): string | undefined {
  if (process.platform !== "linux") return undefined;
  let state = "";
  for (const folder of folders) {
    const found = statSync(folder, { throwIfNoEntry: false });
    if (found === undefined || Math.abs(systemClock() - found.ctimeMs) < MAX_CLOCK_TICK_MS) return undefined;
    state += `${found.dev}:${found.ino}:${found.ctimeMs} `;
  }
  return state;
}

function identityOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
}
