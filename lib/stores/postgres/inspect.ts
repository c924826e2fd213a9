import { CALL_TIMEOUT_MS } from "../../core/time.ts";
import { unpackChanges } from "../../orders/history.ts";
import type { InspectedOrder, Inspection, Report } from "../check.ts";
import { createAccountStore } from "./accounts.ts";
import type { PostgresPool } from "./connection.ts";
import { isTrue, migrateTables, openDatabase, readCatalogs } from "./database.ts";
import { readTriggers } from "./outbox.ts";
import { DEFAULT_SCHEMA, OUTBOX_FUNCTION, OUTBOX_TRIGGERS, TABLES } from "./schema.ts";
import type { Statement } from "./statement.ts";

const PAGE_SIZE = 1_000;

/** What rejects wrong rows: it can be missing after an incomplete restore. */
const CONSTRAINTS: readonly (readonly [constraint: string, meaning: string])[] = [
  ...TABLES.map((table) => [`${table} p`, "primary key, so that a row can exist twice"] as const),
  ["api_keys f", "foreign key to accounts, so that a key can be without an account"],
  ["api_keys hash", "unique index on hash, so that two accounts can have the same key"],
];

const AS_PRINTED = "as 'database migrate --print' prints it";
const HIDDEN =
  "Row level security applies to this role, so a policy can hide rows, and the store does not use it.";

/** Each page is a transaction of its own. */
export function inspectPostgres(pool: PostgresPool, schemaName = DEFAULT_SCHEMA): Inspection {
  const database = openDatabase(pool, { schema: schemaName, existing: true });
  const { schema, read } = database;
  const readCatalog = (statement: Statement) =>
    readCatalogs(pool, { ...statement, isRare: true }, performance.now() + CALL_TIMEOUT_MS);

  /** Reports tables whose rows a policy can hide, or which the role may not read. False if there are any. */
  async function seesAll(report: Report): Promise<boolean> {
    const tables = await readCatalog({
      text: `SELECT relname, row_security_active(oid), has_table_privilege(oid, 'SELECT'), relpersistence = 'u' FROM pg_catalog.pg_class
             WHERE relnamespace = pg_catalog.to_regnamespace($1) AND relname = ANY ($2::text[]) ORDER BY 1`,
      values: [schema, TABLES],
    });
    for (const [table, isHidden, isReadable, isUnlogged] of tables) {
      const disable = `Run 'ALTER TABLE ${schema}.${table} DISABLE ROW LEVEL SECURITY', or use its owner or a role with BYPASSRLS.`;
      const grant = `Run 'GRANT SELECT ON ${schema}.${table} TO' the role.`;
      const log = `Run 'ALTER TABLE ${schema}.${table} SET LOGGED'.`;
      if (isTrue(isUnlogged)) report(`table ${table}`, "It is UNLOGGED: a crash empties it.", log);
      if (isTrue(isHidden)) report(`table ${table}`, HIDDEN, disable);
      if (!isTrue(isReadable)) report(`table ${table}`, "This role may not read it.", grant);
    }
    return tables.every(([, isHidden, isReadable]) => !isTrue(isHidden) && isTrue(isReadable));
  }

  async function inspectKeys(report: Report): Promise<void> {
    const found = await readCatalog({
      text: `SELECT c.relname || ' ' || k.contype::text FROM pg_catalog.pg_constraint k
               JOIN pg_catalog.pg_class c ON c.oid = k.conrelid
               LEFT JOIN pg_catalog.pg_index i ON i.indexrelid = k.conindid AND k.contype = 'p'
             WHERE c.relnamespace = $1::regnamespace AND k.convalidated AND i.indisvalid IS NOT FALSE
             UNION ALL SELECT 'api_keys hash' FROM pg_catalog.pg_index i JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid
             WHERE i.indrelid = $2::regclass AND i.indisunique AND i.indisvalid AND i.indpred IS NULL
               AND a.attname = 'hash' AND i.indkey::text = a.attnum::text`,
      values: [schema, `${schema}.api_keys`],
    });
    const known = found.map(([constraint]) => constraint);
    const repair = `Add it ${AS_PRINTED}, once no row breaks it.`;
    for (const [constraint, problem] of CONSTRAINTS)
      if (!known.includes(constraint))
        report(`table ${constraint.split(" ")[0]}`, `It has no valid ${problem}.`, repair);
  }

  /** Reports a trigger function or triggers that lose changes, or write them elsewhere. */
  async function inspectOutbox(report: Report): Promise<void> {
    const [[text, settings] = []] = await readCatalog({
      text: "SELECT prosrc, array_to_string(proconfig, ', ') FROM pg_catalog.pg_proc WHERE oid = pg_catalog.to_regproc($1)",
      values: [`${schema}.add_to_outbox`],
    });
    const triggers = await readTriggers({ schema, read: readCatalog });
    if (text !== OUTBOX_FUNCTION.text || settings !== OUTBOX_FUNCTION.settings)
      report(
        "function add_to_outbox",
        "It is missing, or not that of this version: changes can be lost, or get into another schema.",
        `Replace it ${AS_PRINTED}.`,
      );
    if (!triggers.areMissing && !triggers.work)
      report(
        `triggers ${OUTBOX_TRIGGERS.join(" and ")}`,
        "One is missing, not enabled in every session, or calls another function, so changes are lost.",
        "Run 'database outbox on' as the owner of the tables.",
      );
  }

  return {
    async inspect(report) {
      // A table that the role cannot read as a whole is not read at all.
      const isReadable = await seesAll(report);
      // Throws if a table is missing, or the tables are of another version.
      const asIs = { existing: true, onlyIfEmpty: true, deadline: performance.now() + CALL_TIMEOUT_MS };
      if (isReadable) await migrateTables(pool, { schema: schemaName, ...asIs });
      await inspectKeys(report);
      await inspectOutbox(report);
      if (!isReadable) return false;
      const orphans = `SELECT k.id FROM ${schema}.api_keys k LEFT JOIN ${schema}.accounts a ON a.id = k.account WHERE a.id IS NULL`;
      for (const [id] of await read({ text: orphans }))
        report(`key ${id}`, "Its account does not exist.", "Delete its row of api_keys.");
      const halves = `SELECT id FROM ${schema}.accounts WHERE (per_minute IS NULL) <> (per_day IS NULL)`;
      for (const [id] of await read({ text: halves }))
        report(`account ${id}`, "It has only one of its two limits.", `Run 'accounts set-plan ${id}'.`);
      return true;
    },

    async *orders() {
      for (let last: bigint | undefined, more = true; more; ) {
        const rows = await read({
          text: `SELECT id, status, record, history FROM ${schema}.orders ${last === undefined ? "" : "WHERE id > $1"}
                 ORDER BY id LIMIT ${PAGE_SIZE}`,
          values: last === undefined ? [] : [last],
        });
        const page = rows.map(
          ([id, status, record, history]): InspectedOrder => ({
            id: BigInt(id as string),
            status: `${status}`,
            wire: `${record}`,
            readHistory: () => unpackChanges(`${history}`),
          }),
        );
        yield page;
        last = page.at(-1)?.id;
        more = page.length === PAGE_SIZE;
      }
    },

    accounts: () => createAccountStore(database).list(),
    close: database.close,
  };
}
