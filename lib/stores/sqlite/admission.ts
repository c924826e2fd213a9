import type { DatabaseSync } from "node:sqlite";
import type { RejectionCount } from "../../accounts/account.ts";
import type { AccountStore } from "../../accounts/account-store.ts";
import { decideAdmission, decideRejections } from "../../accounts/admission.ts";
import type { ParsedKey } from "../../accounts/api-key.ts";
import { ACCOUNT_COLUMNS, type AccountRow, readRow, toAccountRow } from "../account-rows.ts";
import { listOutcome } from "../order-rows.ts";
import { prepareAll, type SqliteDatabase } from "./database.ts";
import { isSqliteError } from "./errors.ts";
import { FIRST_PAGE, pageReader } from "./list.ts";
import type { OrderQueries } from "./orders.ts";

type AdmissionStatements = ReturnType<typeof admissionStatements>;

/** The database as an admission needs it: the operation of a request is performed in the same transaction. */
export type AdmissionDatabase = SqliteDatabase<{
  readonly admission: AdmissionStatements;
  readonly orders: OrderQueries;
}>;

/** Admits requests and counts rejections, each in one transaction. */
export function createAdmission({
  read,
  write,
}: AdmissionDatabase): Pick<AccountStore, "admit" | "recordRejections"> {
  return {
    // Counters and bans survive the process. Only a power failure can lose the most recent ones.
    admit: (key, at, policy, operation) =>
      write(operation?.type === "apply" ? "durable" : "relaxed", ({ admission: sql, orders }) => {
        const state = findKeyState(sql, key);
        const { admission, save } = decideAdmission(state, at, policy);
        if (save.usage !== undefined) {
          const { minute, day } = save.usage;
          sql.updateUsage.run(minute.start, minute.count, day.start, day.count, key.accountId);
          // Once in a minute, in the transaction that counts the request.
          if (state?.usedAt !== minute.start) sql.updateUse.run(minute.start, key.hash, key.accountId);
        }
        if (save.rejections !== undefined) saveRejections(sql, key, save.rejections);
        if (!admission.ok || operation === undefined) return admission;
        if (operation.type === "list")
          return {
            ...admission,
            outcome: listOutcome(orders.listPage(FIRST_PAGE), pageReader({ read }, orders)),
          };
        const { type, id, event, requestId } = operation;
        try {
          const result = orders.apply(id, event, at, { by: admission.caller.keyId, requestId });
          return { ...admission, outcome: { type, result } };
        } catch (error) {
          if (isSqliteError(error)) throw error;
          // The order is damaged: the caller performs the operation again and gets the error, and the admission counts.
          return admission;
        }
      }),

    recordRejections: (key, count, at, policy) =>
      write("relaxed", ({ admission: sql }) => {
        const rejections = decideRejections(findKeyState(sql, key), count, at, policy);
        if (rejections !== undefined) saveRejections(sql, key, rejections);
      }),
  };
}

function findKeyState({ selectKey, selectLargeKey }: AdmissionStatements, { accountId, hash }: ParsedKey) {
  try {
    const row = selectKey.get(hash, accountId) as unknown as AccountRow | undefined;
    return row && readRow(row);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    // Whoever else writes to the file can have stored an integer that a number cannot hold.
    return readRow(toAccountRow(selectLargeKey.get(hash, accountId) as unknown as unknown[]));
  }
}

function saveRejections(sql: AdmissionStatements, key: ParsedKey, rejections: RejectionCount): void {
  const { windowStart, count, bannedUntil = null } = rejections;
  sql.updateRejections.run(windowStart, count, bannedUntil, key.hash, key.accountId);
}

export function admissionStatements(db: DatabaseSync) {
  const select = `SELECT ${ACCOUNT_COLUMNS} FROM api_keys k JOIN accounts a ON a.id = k.account
      WHERE k.hash = ? AND k.account = ?`;
  const writes = {
    updateUsage:
      "UPDATE accounts SET minute_start = ?, minute_count = ?, day_start = ?, day_count = ? WHERE id = ?",
    updateRejections: `UPDATE api_keys SET rejections_start = ?, rejections_count = ?, banned_until = ?
      WHERE hash = ? AND account = ?`,
    updateUse: "UPDATE api_keys SET used_at = ? WHERE hash = ? AND account = ?",
  };
  return {
    ...prepareAll(db, { selectKey: select }, "setReturnArrays"),
    // Takes longer.
    ...prepareAll(db, { selectLargeKey: select }, "setReturnArrays", "setReadBigInts"),
    ...prepareAll(db, writes, "setReadBigInts"),
  };
}
