import { unpackEvents } from "../../orders/history.ts";
import type { InspectedOrder, Inspection } from "../check.ts";
import { createAccountStore } from "./accounts.ts";
import { openDatabase, type PostgresPool } from "./database.ts";
import { DEFAULT_SCHEMA } from "./schema.ts";

/** Rows of one read. */
const PAGE_SIZE = 1_000;

/** The keys of the tables: without one, for example after an incomplete restore, a row can exist twice. */
const CONSTRAINTS = ["orders p", "accounts p", "api_keys p", "api_keys f", "settings p"];

/** Reads the tables of a schema to check them. Each page is a transaction of its own. */
export function inspectPostgres(pool: PostgresPool, schemaName = DEFAULT_SCHEMA): Inspection {
  const database = openDatabase(pool, { schema: schemaName, existing: true });
  const { schema, read } = database;
  return {
    async inspect(report) {
      const found = await read({
        text: `SELECT c.relname || ' ' || k.contype::text FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
               LEFT JOIN pg_index i ON i.indexrelid = k.conindid AND k.contype = 'p'
               WHERE c.relnamespace = $1::regnamespace AND k.convalidated AND i.indisvalid IS NOT FALSE`,
        values: [schema],
      });
      const known = found.map(([constraint]) => constraint);
      for (const constraint of CONSTRAINTS.filter((each) => !known.includes(each))) {
        const [table, type] = constraint.split(" ");
        const kind = type === "p" ? "primary key" : "foreign key to accounts";
        report({
          subject: `table ${table}`,
          problem: `It has no valid ${kind}, so wrong rows are not rejected.`,
          repair: "Add it as 'database migrate --print' prints it, once no row breaks it.",
        });
      }
      const orphans = await read({
        text: `SELECT k.id FROM ${schema}.api_keys k LEFT JOIN ${schema}.accounts a ON a.id = k.account WHERE a.id IS NULL`,
      });
      for (const [id] of orphans)
        report({
          ...{ subject: `key ${id}`, problem: "Its account does not exist." },
          repair: "Delete its row of api_keys.",
        });
      const halves = await read({
        text: `SELECT id FROM ${schema}.accounts WHERE (per_minute IS NULL) <> (per_day IS NULL)`,
      });
      for (const [id] of halves)
        report({
          ...{ subject: `account ${id}`, problem: "It has only one of its two limits." },
          repair: `Run 'accounts set-plan ${id}'.`,
        });
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
            changes: unpackEvents(`${history}`),
          }),
        );
        yield page;
        last = page.at(-1)?.id;
        more = page.length === PAGE_SIZE;
      }
    },

    accounts: () => createAccountStore(database).list(),
    close: database.settled,
  };
}
