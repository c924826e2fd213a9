import { invalidInput, ownMessage, StoreUnavailableError } from "../../core/errors.ts";
import { keyOfAnother } from "../account-rows.ts";
import type { Rows } from "./statement.ts";

/** A notice or warning of the server. */
export interface PostgresNotice {
  readonly code?: string | undefined;
  /** The function of the server that reported it. */
  readonly routine?: string | undefined;
}

/** An error of the driver or of the server. https://www.postgresql.org/docs/current/errcodes-appendix.html */
export class DatabaseError extends Error {
  override readonly name = "DatabaseError";
  /** The code of the server. Empty if the driver reported the error: there is no connection, or no response. */
  readonly sqlState: string;
  /** True if the server has rolled the transaction back and answers the next statement. */
  readonly isRolledBack: boolean;
  readonly routine: unknown;
  /** The rows of the statements before the one that failed. */
  readonly rows: readonly Rows[];

  constructor(cause: unknown, rows: readonly Rows[] = []) {
    super(ownMessage(cause), { cause });
    this.rows = rows;
    const { code, severity, routine } = cause as Readonly<Record<"code" | "severity" | "routine", unknown>>;
    const isFromServer = typeof severity === "string" && typeof code === "string";
    this.sqlState = isFromServer ? code : "";
    // The server translates the severity. A code of these classes ends the session.
    const isFatal =
      /^(FATAL|PANIC)$/.test(`${severity}`) || (severity !== "ERROR" && FATAL_CODES.test(this.sqlState));
    this.isRolledBack = isFromServer && !isFatal;
    this.routine = routine;
  }
}

const FATAL_CODES = /^(08|57P|58|XX|53300|25P0[34])/;

export function isMissingTable(error: unknown): boolean {
  // `undefined_table`, `undefined_column` and `invalid_schema_name`.
  return hasState(error, ["42P01", "42703", "3F000"]);
}

export const isForbidden = (error: unknown): boolean => hasState(error, ["42501"]);

/** True for the `StoreUnavailableError` of a wait for a lock. */
export function isLocked(error: unknown): boolean {
  return error instanceof Error && hasState(error.cause, ["55P03"]);
}

/** A connection pooler has changed the session, or another program has discarded all prepared statements. */
export function isForeignSession(error: unknown): boolean {
  return hasState(error, ["26000", "42P05"]) || isFromPgbouncer(error, /prepared statement did not exist/);
}

export function isRefused(error: unknown): boolean {
  return hasState(error, ["53300"]) || isFromPgbouncer(error, /max_client_conn|client connections exceeded/);
}

/** PgBouncer has the code of a violated protocol for all that it rejects. Its texts are not translated. */
function isFromPgbouncer(error: unknown, text: RegExp): boolean {
  return hasState(error, ["08P01"]) && text.test((error as DatabaseError).message);
}

/**
 * True if the next transaction of this session can fail for the same reason, and in another session succeed: it can only
 * read, or has another role or other settings. Values, locks and tables say nothing about a session.
 */
export function isWrongSession(error: unknown): boolean {
  if (!(error instanceof DatabaseError) || isMissingTable(error)) return false;
  return !/^(2[23]|40)|^55P03$/.test(error.sqlState);
}

/** True if a transaction that has not been committed can succeed at once: after a deadlock, or on another connection. */
export function isRepeatable(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return false;
  return !error.isRolledBack || isForeignSession(error) || hasState(error, ["40001", "40P01"]);
}

function hasState(error: unknown, states: readonly string[]): boolean {
  return error instanceof DatabaseError && states.includes(error.sqlState);
}

/** A setting that nobody has: reading it fails. */
export const NO_TRANSACTION_SETTING = "store_orders.no_transaction";

/** True if a statement that needs a transaction, or that of the statement before, found none. */
export function isOutsideTransaction(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return false;
  return error.sqlState === "25P01" || error.message.includes(NO_TRANSACTION_SETTING);
}

/** Also for one that had failed and was not ended. */
export function isOpenTransaction(error: unknown): boolean {
  return hasState(error, ["25001", "25P02"]);
}

export function openTransaction(isOwn: boolean): StoreUnavailableError {
  const cause = new Error(
    isOwn
      ? "A transaction of another program was open on it. A pooler before the server, such as Pgpool-II, has to end what a " +
          "client leaves open (reset_query_list = 'ABORT; DISCARD ALL'), and to keep a session during a transaction."
      : "A transaction was open on it. End each transaction with COMMIT or ROLLBACK before its connection is released, " +
          "also after an error, and begin none with pool.query.",
  );
  return new StoreUnavailableError("The pool has lent a connection that cannot be used.", { cause });
}

/** The server has answered COMMIT with ROLLBACK: somebody else has used the connection meanwhile. */
export function notCommitted(): Error {
  return reported("25P02", "The transaction was rolled back by another statement on its connection.");
}

/**
 * True for the warning of a COMMIT whose wait for a synchronous standby somebody has cancelled. The code is that of any
 * warning, and its text is translated. Those of a function in SQL are about something else.
 */
export function isLocalCommit({ code, routine }: PostgresNotice): boolean {
  return code === "01000" && routine !== "exec_stmt_raise";
}

export function notConfirmed(): Error {
  return new Error("The server has committed the transaction, and no synchronous standby has confirmed it.");
}

export function standby(): DatabaseError {
  return new DatabaseError(reported("25006", "The server is a standby. Connect to the primary."));
}

function reported(code: string, message: string): Error {
  return Object.assign(new Error(message), { code, severity: "ERROR" });
}

export function hiddenRows(cause?: DatabaseError): StoreUnavailableError {
  return new StoreUnavailableError(
    "Row level security can hide rows of the store from this role. Disable it for the tables of the store (ALTER TABLE … " +
      "DISABLE ROW LEVEL SECURITY), or connect as a role with BYPASSRLS.",
    { cause },
  );
}

const REJECTED =
  "Correct the user, the password or the host of the connection, or what the server permits in pg_hba.conf.";

/** By the code of the server, whose message has the name. */
const TO_CORRECT: Readonly<Record<string, string>> = {
  "28000": REJECTED,
  "28P01": REJECTED,
  "3D000": "Correct the name of the database in the connection, or create the database.",
  "25P02": "The transaction failed in an earlier statement. End it with ROLLBACK, and begin another.",
};

const ENCODING =
  "The encoding of the database has not all of its characters. Use others, or a database with the encoding UTF8.";

const TLS =
  "Correct the TLS of the connection: sslrootcert is the file with the certificate of the server's authority, which a " +
  "private one needs, and sslmode says whether TLS is used and what is verified.";

/** Also if a file that the connection names cannot be read. */
function isTlsMistake({ cause, message }: DatabaseError): boolean {
  const { code = "", syscall } = Object(cause) as { readonly code?: string; readonly syscall?: string };
  if (/^(ENOENT|EACCES|EISDIR)$/.test(code)) return syscall !== "connect";
  return /CERT|LEAF_SIGNATURE|^ERR_(TLS|SSL|OSSL)/.test(code) || /does not support SSL/.test(message);
}

/** The server's message, which follows, names the schema or table. */
const FORBIDDEN =
  "The role lacks a permission. GRANT it USAGE on the schema, SELECT, INSERT and UPDATE on its tables, and DELETE on " +
  "accounts, api_keys and outbox. Only the owner of the tables can switch the outbox on or off.";

export const RESTORE = "Restore a backup or, if another program has these tables, use another ?schema=NAME.";

/** Returns an error that is not one of an unusable database unchanged. */
export function toStoreError(error: unknown): unknown {
  if (!(error instanceof DatabaseError)) return error;
  // The server's message names the table.
  if (error.routine === "check_enable_rls") return hiddenRows(error);
  if ((error.cause as { readonly constraint?: unknown }).constraint === "api_keys_hash")
    return keyOfAnother();
  // `untranslatable_character`: a database has an encoding of its own.
  if (hasState(error, ["22P05"])) return invalidInput("text", ENCODING);
  // A value that cannot be stored: a data exception or a violated constraint.
  if (/^2[23]/.test(error.sqlState)) return error.cause;
  // The driver has no code for a password that is needed and missing.
  const isPasswordMissing = error.sqlState === "" && /password must be a/.test(error.message);
  const correction = isPasswordMissing ? REJECTED : isTlsMistake(error) ? TLS : TO_CORRECT[error.sqlState];
  if (correction !== undefined)
    return new StoreUnavailableError(correction, { cause: error, retryable: false });
  const incomplete = isMissingTable(error) && `A table or a column is missing. ${RESTORE}`;
  const message = isForbidden(error) ? FORBIDDEN : incomplete || "The database cannot be used.";
  return new StoreUnavailableError(message, { cause: error });
}
