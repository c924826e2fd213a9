import type { DatabaseSync } from "node:sqlite";
import type { RejectionCount } from "../../accounts/account.ts";
import type { AccountStore } from "../../accounts/account-store.ts";
import { type Decision, decideAdmission, decideRejections } from "../../accounts/admission.ts";
import type { ParsedKey } from "../../accounts/api-key.ts";
import type { Usage } from "../../plans/windows.ts";
import {
  ACCOUNT_COLUMNS,
  type AccountRow,
  readRow,
  rejectionValues,
  type SavedKey,
  toAccountRow,
} from "../account-rows.ts";
import { listOutcome } from "../order-rows.ts";
import { prepareAll, type SqliteDatabase } from "./database.ts";
import { isSqliteError } from "./errors.ts";
import { FIRST_PAGE, pageReader } from "./list.ts";
import type { OrderQueries } from "./orders.ts";

type AdmissionStatements = ReturnType<typeof admissionStatements>;

interface AdmissionQueries {
  readonly admission: AdmissionStatements;
  readonly orders: OrderQueries;
}

export type AdmissionDatabase = SqliteDatabase<AdmissionQueries>;

/** The operation of a request is performed in the same transaction. */
export function createAdmission({
  read,
  writeInSequence,
}: AdmissionDatabase): Pick<AccountStore, "admit" | "recordRejections"> {
  return {
    // Counters and bans survive the process. Only a power failure can lose the most recent ones.
    admit: (key, at, policy, operation) =>
      writeInSequence(operation?.type === "apply" ? "durable" : "relaxed", beginSequence, (rows) => {
        const state = rows.findKey(key);
        const { admission, save } = decideAdmission(state, at, policy);
        rows.keep(state, save);
        if (!admission.ok || operation === undefined) return admission;
        if (operation.type === "list")
          return { ...admission, outcome: listOutcome(rows.firstPage(), pageReader({ read }, rows.orders)) };
        const { type, id, event, requestId } = operation;
        try {
          const result = rows.apply(id, event, at, { by: admission.caller.keyId, requestId });
          return { ...admission, outcome: { type, result } };
        } catch (error) {
          if (isSqliteError(error)) throw error;
          // The order is damaged: the caller performs the operation again and gets the error, and the admission counts.
          return admission;
        }
      }),

    recordRejections: (key, count, at, policy) =>
      writeInSequence("relaxed", beginSequence, (rows) => {
        const state = rows.findKey(key);
        const rejections = decideRejections(state, count, at, policy);
        if (rejections !== undefined) rows.keep(state, { rejections });
      }),
  };
}

/** What admissions that follow each other share: a key and the first page are read once, and counts are written once. */
function beginSequence({ admission: sql, orders }: AdmissionQueries) {
  const keys = new Map<string, SavedKey>();
  const rejectedKeys = new Map<string, SavedKey & { readonly rejections: RejectionCount }>();
  // By account: its keys share them.
  const usages = new Map<string, Usage>();
  let page: ReturnType<typeof orders.listPage> | undefined;

  return {
    orders,

    findKey(presented: ParsedKey): SavedKey | undefined {
      const { accountId, hash } = presented;
      const key = keys.get(hash) ?? readKey(sql, presented);
      if (key?.accountId !== accountId) return undefined;
      keys.set(hash, key);
      return { ...key, usage: usages.get(accountId) ?? key.usage };
    },

    keep(state: SavedKey | undefined, { usage, rejections }: Decision["save"]): void {
      if (state === undefined) return;
      const { accountId, key } = state;
      if (usage !== undefined) {
        usages.set(accountId, usage);
        // Once in a minute, in the transaction that counts the request.
        const usedAt = usage.minute.start;
        if (usedAt !== state.usedAt) {
          sql.updateUse.run(usedAt, key.hash, accountId);
          keys.set(key.hash, { ...state, usedAt });
        }
      }
      if (rejections !== undefined) {
        const rejected = { ...state, rejections };
        keys.set(key.hash, rejected);
        rejectedKeys.set(key.hash, rejected);
      }
    },

    firstPage: () => (page ??= orders.listPage(FIRST_PAGE)),

    apply(...change: Parameters<typeof orders.apply>) {
      page = undefined;
      return orders.apply(...change);
    },

    end(): void {
      for (const [accountId, { minute, day }] of usages)
        sql.updateUsage.run(minute.start, minute.count, day.start, day.count, accountId);
      for (const { accountId, key, rejections } of rejectedKeys.values())
        sql.updateRejections.run(...rejectionValues(rejections), key.hash, accountId);
    },
  };
}

function readKey({ selectKey, selectLargeKey }: AdmissionStatements, { accountId, hash }: ParsedKey) {
  try {
    const row = selectKey.get(hash, accountId) as unknown as AccountRow | undefined;
    return row && readRow(row);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    // Another program can have stored an integer that a number cannot hold.
    return readRow(toAccountRow(selectLargeKey.get(hash, accountId) as unknown as unknown[]));
  }
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
    ...prepareAll(db, { selectLargeKey: select }, "setReturnArrays", "setReadBigInts"),
    ...prepareAll(db, writes, "setReadBigInts"),
  };
}
