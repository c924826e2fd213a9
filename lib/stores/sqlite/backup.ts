import { randomUUID } from "node:crypto";
import { closeSync, existsSync, openSync, realpathSync, renameSync, rmSync, statSync } from "node:fs";
import { resolve } from "node:path";
// As a namespace: Node 22.15 and earlier have no `backup`, and could not load this module.
import * as sqlite from "node:sqlite";
import { pathToFileURL } from "node:url";
import { type Failure, StoreUnavailableError } from "../../core/errors.ts";
import { CALL_TIMEOUT_MS } from "../../core/time.ts";
import { isNotWritable, isSqliteError, toStoreError } from "./errors.ts";
import { assertLogHasDatabase, toFileName } from "./file.ts";
import { EMPTY, versionOf } from "./schema.ts";

/** The result of a backup. `file_exists`: there is a file at the destination, which was not changed. */
export type BackupResult = { readonly ok: true } | Failure<"file_exists">;

/** All pages in one step: SQLite starts again whenever another process writes between two steps. */
const PAGES_PER_STEP = 2 ** 31 - 1;

/**
 * Copies a database while other processes use it, to a new file that only its owner can read. The copy is consistent:
 * it has everything that was committed before the call, and does not delay writers. Throws `StoreUnavailableError` if
 * the database cannot be read, and a system error if the file cannot be written. When `signal` aborts, the files are
 * removed at once; the call rejects once SQLite, which cannot be interrupted, has written the pages.
 */
export async function backUpSqlite({
  path,
  to,
  signal,
}: {
  readonly path: string;
  readonly to: string;
  readonly signal?: AbortSignal;
}): Promise<BackupResult> {
  // The program may change its working directory before this resolves.
  const destination = resolve(to);
  const { db: source } = openReadOnly(path);
  try {
    signal?.throwIfAborted();
    // Reserves the name. An interrupted backup leaves an empty file, not one that could be mistaken for a backup.
    try {
      closeSync(openSync(destination, "wx", 0o600));
    } catch (error) {
      if (Object(error).code === "EEXIST") return { ok: false, code: "file_exists" };
      throw error;
    }
    // No other file has this name, so none is lost.
    const partial = `${destination}.${randomUUID()}.partial`;
    const remove = () => {
      for (const file of [partial, `${partial}-journal`, destination]) rmSync(file, { force: true });
    };
    signal?.addEventListener("abort", remove);
    try {
      closeSync(openSync(partial, "wx", 0o600));
      await sqlite.backup(source, partial, { rate: PAGES_PER_STEP });
      signal?.throwIfAborted();
      renameSync(partial, destination);
      return { ok: true };
    } catch (error) {
      // After an abort, the file at the destination may be another one, and SQLite may fail because its own is gone.
      signal?.throwIfAborted();
      remove();
      throw isSqliteError(error) ? toStoreError(error, `or its copy ${to}`) : error;
    } finally {
      signal?.removeEventListener("abort", remove);
    }
  } finally {
    source.close();
  }
}

/** Also where nothing can be written. `isCurrent` is false if another process has written what this cannot see. */
export function openReadOnly(path: string) {
  const file = toFileName(path);
  assertLogHasDatabase(file);
  try {
    return { db: openAndRead(file), isCurrent: () => true };
  } catch (error) {
    if (!isNotWritable(error)) throw toStoreError(error);
    if (!isLogEmpty(file)) {
      const advice = "Copy both files to a folder that can be written.";
      throw new StoreUnavailableError(`${path}-wal has changes that are not in ${path} yet. ${advice}`, {
        cause: error,
      });
    }
    try {
      const state = stateOf(file);
      // SQLite otherwise needs two files beside the database, which it cannot create. Both would be empty.
      const db = openAndRead(new URL("?immutable=1", pathToFileURL(file)));
      return { db, isCurrent: () => stateOf(file) === state };
    } catch (again) {
      throw toStoreError(again);
    }
  }
}

function stateOf(file: string): string {
  const states = [file, logOf(file)].map((each) => statSync(each, { throwIfNoEntry: false }));
  return states.map((state) => `${state?.ino}:${state?.size}:${state?.mtimeMs}`).join(" ");
}

/** The log is beside the file that a symbolic link leads to. */
const logOf = (file: string) => `${existsSync(file) ? realpathSync(file) : file}-wal`;

function openAndRead(file: string | URL): sqlite.DatabaseSync {
  const source = new sqlite.DatabaseSync(file, { readOnly: true, timeout: CALL_TIMEOUT_MS });
  try {
    if (versionOf(source) === 0) throw new StoreUnavailableError(EMPTY);
    return source;
  } catch (error) {
    source.close();
    throw error;
  }
}

/** False if a database has changes in its write-ahead log that the file may lack. */
export function isLogEmpty(file: string): boolean {
  try {
    return (statSync(logOf(file), { throwIfNoEntry: false })?.size ?? 0) === 0;
  } catch {
    return true;
  }
}
