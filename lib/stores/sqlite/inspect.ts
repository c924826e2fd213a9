import { DatabaseSync } from "node:sqlite";
import { isStoreUnavailable } from "../../core/errors.ts";
import { unpackChanges } from "../../orders/history.ts";
import { MAX_INT64, MIN_INT64 } from "../../orders/int64.ts";
import { eachAccount } from "../account-rows.ts";
import type { InspectedOrder, Inspection, Report } from "../check.ts";
import { accountStatements, readAccounts } from "./accounts.ts";
import { openReadOnly } from "./backup.ts";
import { prepareAll } from "./database.ts";
import { isDamaged, toStoreError } from "./errors.ts";
import { switchTriggers, TRIGGERS } from "./outbox.ts";
import { migrate, SCHEMA_VERSION, versionOf } from "./schema.ts";

const RESTORE =
  "Restore a backup, and import what was exported since. See lib/stores/sqlite/README.md#restore.";

/** A table, an index or a trigger, and what creates it. */
type Part = Readonly<Record<"name" | "sql", string>> & { readonly type: "table" | "index" | "trigger" };
const PARTS = "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL";

/** What a new database has, with its outbox on or off. */
function newParts(hasOutbox: boolean): readonly Part[] {
  const db = new DatabaseSync(":memory:");
  migrate(db);
  if (hasOutbox) switchTriggers(db, true);
  const parts = db.prepare(PARTS).all() as unknown as Part[];
  db.close();
  return parts;
}

const PAGE_SIZE = 1_000;

type OrderRow = Omit<InspectedOrder, "readHistory"> & { readonly history: string };

/** Each read is a statement of its own, so that none keeps the log from being reset. */
export function inspectSqlite(path: string): Inspection {
  let db: DatabaseSync | undefined;

  function inspectFile(report: Report): boolean {
    const { db: opened } = openReadOnly(path);
    db = opened;
    const version = versionOf(opened);
    if (version !== SCHEMA_VERSION) {
      const repair = "Run 'accounts list', which migrates it, and check again.";
      report("database", `It has schema version ${version}, not ${SCHEMA_VERSION}.`, repair);
      return false;
    }
    const all = (sql: string) =>
      prepareAll(opened, { sql }, "setReadBigInts").sql.all() as Record<string, string | bigint | null>[];
    let isReadable = true;
    const parts = all(PARTS) as unknown as Part[];
    const isOurs = ({ type, name }: Part) => type === "trigger" && Object.hasOwn(TRIGGERS, name);
    const expected = newParts(parts.some(isOurs));
    for (const { type, name, sql } of expected) {
      if (parts.some((part) => part.type === type && part.name === name)) continue;
      if (type === "table") isReadable = false;
      const repairs = { table: RESTORE, index: `Run "${sql}".`, trigger: "Run 'database outbox on'." };
      if (isReadable || type === "table") report(`${type} ${name}`, "It is missing.", repairs[type]);
    }
    if (!isReadable) return false;
    function inspectTable(name: string): void {
      const quoted = `"${name.replaceAll('"', '""')}"`;
      for (const { integrity_check: problem } of all(`PRAGMA integrity_check(${quoted})`)) {
        if (problem === "ok") continue;
        isReadable = false;
        report(`table ${name}`, `It is damaged: ${problem}.`, RESTORE);
      }
      for (const { rowid, parent } of all(`PRAGMA foreign_key_check(${quoted})`)) {
        const problem = `A row${rowid === null ? "" : ` (${rowid})`} belongs to a row of ${parent} that does not exist.`;
        report(`table ${name}`, problem, "Delete it: 'PRAGMA foreign_key_check' in sqlite3 lists such rows.");
      }
    }
    // One table at a time: a long read keeps the write-ahead log from being reset.
    for (const { name } of parts.filter(({ type }) => type === "table"))
      try {
        inspectTable(name);
      } catch (error) {
        // A table of somebody else can need a module or a collation that is not here, or have a wrong foreign key.
        if (isDamaged(error) || expected.some((part) => part.name === name)) throw error;
      }
    for (const { id } of all("SELECT id FROM accounts WHERE (per_minute IS NULL) <> (per_day IS NULL)"))
      report(`account ${id}`, "It has only one of its two limits.", `Run 'accounts set-plan ${id}'.`);
    return isReadable;
  }

  return {
    async inspect(report) {
      try {
        return inspectFile(report);
      } catch (error) {
        const cause = isStoreUnavailable(error) ? error.cause : error;
        if (!isDamaged(cause)) throw toStoreError(error);
        report("database", `The file is damaged: ${cause.message}.`, RESTORE);
        return false;
      }
    },

    async *orders() {
      if (db === undefined) return;
      const select = db.prepare(
        "SELECT id, status, record AS wire, history FROM orders WHERE id >= ? ORDER BY id LIMIT ?",
      );
      select.setReadBigInts(true);
      for (let from: bigint | undefined = MIN_INT64; from !== undefined; ) {
        const page = select.all(from, PAGE_SIZE) as unknown as readonly OrderRow[];
        yield page.map(({ history, ...order }) => ({ ...order, readHistory: () => unpackChanges(history) }));
        const last = page.at(-1)?.id ?? MAX_INT64;
        from = last === MAX_INT64 ? undefined : last + 1n;
      }
    },

    async *accounts() {
      if (db === undefined) return;
      const sql = accountStatements(db);
      yield* eachAccount(async (after, limit) => readAccounts(sql, after, limit));
    },

    async close() {
      db?.close();
    },
  };
}
