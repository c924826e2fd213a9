import { closeSync, openSync, realpathSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { StoreUnavailableError } from "../../errors.ts";
import { BUSY_TIMEOUT_MS, retryWhileBusy } from "./busy.ts";
import { createFolder } from "./create-folder.ts";
import { toStoreError } from "./errors.ts";
import { type DatabaseFile, databaseFile } from "./file.ts";
import { restrictAccess } from "./file-mode.ts";
import { toFileName } from "./file-name.ts";
import { type GroupCommit, groupCommit } from "./group-commit.ts";
import { migrate } from "./schema.ts";

/** A database connection, shared by concurrent callers. */
export interface Connection extends GroupCommit {
  readonly db: DatabaseSync;
  readonly file: DatabaseFile;
  /** Runs a read, and retries it while another process locks the database. */
  read<T>(task: () => T): Promise<T>;
}

/**
 * Opens a database file and migrates its schema. A missing file is created, readable by its owner only. With
 * `existing`, an empty database is an error and a locked one fails at once. `assertReopenable` has checked that the file
 * is there.
 */
export function openConnection(path: string, { existing = false } = {}): Connection {
  let db: DatabaseSync;
  try {
    if (path !== ":memory:" && !existing) {
      createFolder(dirname(path), 0o700);
      closeSync(openSync(path, "a", 0o600));
    }
    db = new DatabaseSync(toFileName(path), { timeout: existing ? 0 : BUSY_TIMEOUT_MS });
  } catch (cause) {
    throw new StoreUnavailableError(`The database ${path} cannot be opened.`, { cause });
  }
  try {
    migrate(db, { existing });
    // SQLite would wait for a lock synchronously. `retryWhileBusy` and `groupCommit` do not block the event loop.
    db.exec("PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON; PRAGMA busy_timeout = 0");
    // The first read creates the log files, whose access is restricted next.
    db.exec("SELECT 1 FROM sqlite_schema");
    if (path !== ":memory:") restrictAccess(realpathSync(path));
    const file = databaseFile(path);
    return { db, file, read: (task) => retryWhileBusy(task).catch(rethrow), ...groupCommit(db, file) };
  } catch (error) {
    db.close();
    throw toStoreError(error, path);
  }
}

function rethrow(error: unknown): never {
  throw toStoreError(error);
}
