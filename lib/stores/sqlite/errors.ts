import { setTimeout as sleep } from "node:timers/promises";
import { isStoreUnavailable, StoreUnavailableError } from "../../errors.ts";

/** How long a call waits for other processes before it gives up, in milliseconds. */
export const BUSY_TIMEOUT_MS = 5_000;

/** Runs work now, or again until its time is up while another process holds the database. */
export async function retryWhileBusy<T>(work: () => T): Promise<T> {
  const deadline = performance.now() + BUSY_TIMEOUT_MS;
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error;
      await jitteredDelay();
    }
  }
}

/** A moment for other processes, of another length each time, so that those who wait do not keep meeting. */
export async function jitteredDelay(): Promise<void> {
  await sleep(1 + Math.random() * 4);
}

const BUSY = [5, 6];
const CORRUPT = 11;
const NOT_A_DATABASE = 26;

/**
 * Nothing that a caller has done. Every statement is fixed and was prepared against our schema, so that "error" (1)
 * and "schema" (17) say that the schema is another one by now. The others: out of memory, read-only, I/O, full, cannot
 * open, protocol.
 */
const UNAVAILABLE_CODES = [1, 7, 8, 10, CORRUPT, 13, 14, 15, 17, NOT_A_DATABASE];

/** The path leads to other files than those that are open. */
export class FileMovedError extends Error {}

/** True for an error that SQLite itself gave. */
export function isSqliteError(error: unknown): error is Error & { readonly errcode: number } {
  return error instanceof Error && "errcode" in error && typeof error.errcode === "number";
}

/** True where the connection is of no use any more: what it has read or holds open is not the database. */
export function needsReopening(error: unknown): boolean {
  if (!isStoreUnavailable(error)) return false;
  return (
    error.cause instanceof FileMovedError || [CORRUPT, NOT_A_DATABASE].includes(primaryCode(error.cause))
  );
}

function primaryCode(error: unknown): number {
  return isSqliteError(error) ? error.errcode & 0xff : 0;
}

/** True while another process holds the database. */
export function isBusy(error: unknown): boolean {
  return BUSY.includes(primaryCode(error));
}

/** Node's own refusal, where a call comes after the connection was closed. */
function isClosed(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_INVALID_STATE";
}

/** A database that cannot serve is `StoreUnavailableError`; anything else stays what it is. */
export function toStoreError(error: unknown): unknown {
  const unavailable = isClosed(error) || [...BUSY, ...UNAVAILABLE_CODES].includes(primaryCode(error));
  return unavailable ? new StoreUnavailableError("The database cannot be used.", { cause: error }) : error;
}
