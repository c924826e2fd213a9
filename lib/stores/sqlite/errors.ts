import { isStoreUnavailable, StoreUnavailableError } from "../../core/errors.ts";

const BUSY = [5, 6]; // SQLITE_BUSY, SQLITE_LOCKED
const DAMAGED = [11, 26]; // SQLITE_CORRUPT, SQLITE_NOTADB
const NOT_WRITABLE = [8, 14]; // SQLITE_READONLY, SQLITE_CANTOPEN
const IOERR_SHMSIZE = 4874;
const CONSTRAINT = 19;

/**
 * No caller can cause these. Every statement was prepared against our schema, so `SQLITE_ERROR` and `SQLITE_SCHEMA`
 * mean that the schema has changed. See https://www.sqlite.org/rescode.html.
 */
const UNAVAILABLE = [
  ...BUSY,
  ...DAMAGED,
  ...NOT_WRITABLE,
  1, // SQLITE_ERROR
  7, // SQLITE_NOMEM
  10, // SQLITE_IOERR
  13, // SQLITE_FULL
  15, // SQLITE_PROTOCOL
  17, // SQLITE_SCHEMA
];

/** The path no longer leads to the files that are open. */
export class FileMovedError extends Error {}

/** What Deno's `exec` throws has no `errcode` (2.9.6). */
export function isSqliteError(error: unknown): error is Error & { readonly errcode?: number } {
  return error instanceof Error && ("errcode" in error || Object(error).code === "ERR_SQLITE_ERROR");
}

export const isBusy = (error: unknown) => BUSY.includes(primaryCode(error));

/** Also of the files that SQLite keeps beside the database, for example because the disk is full. */
export const isNotWritable = (error: unknown) =>
  NOT_WRITABLE.includes(primaryCode(error)) || (isSqliteError(error) && error.errcode === IOERR_SHMSIZE);

export const isConstraint = (error: unknown) => primaryCode(error) === CONSTRAINT;

export const isDamaged = (error: unknown): error is Error => DAMAGED.includes(primaryCode(error));

/** Somebody has dropped a table or a column of ours. */
export function isIncomplete(error: unknown): error is Error {
  return isSqliteError(error) && /^no such (table|column)/.test(error.message);
}

/** True if the connection must be replaced: the database is damaged, or the open file is not the one at the path. */
export function needsReopening(error: unknown): boolean {
  return isStoreUnavailable(error) && (error.cause instanceof FileMovedError || isDamaged(error.cause));
}

/** Returns an error that is not one of an unusable database unchanged. */
export function toStoreError(error: unknown, name = ""): unknown {
  const isClosed = error instanceof Error && "code" in error && error.code === "ERR_INVALID_STATE";
  const isUnavailable = isClosed || UNAVAILABLE.includes(primaryCode(error));
  const problem = isIncomplete(error) ? "lacks a table or a column. Restore a backup." : "cannot be used.";
  const message = `The database${name && ` ${name}`} ${problem}`;
  return isUnavailable ? new StoreUnavailableError(message, { cause: error }) : error;
}

const primaryCode = (error: unknown): number => (isSqliteError(error) ? (error.errcode ?? 1) & 0xff : 0);
