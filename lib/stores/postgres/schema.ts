import { assertOptions, invalidInput, NewerSchemaError, StoreUnavailableError } from "../../core/errors.ts";
import { DatabaseError, isForbidden, RESTORE } from "./errors.ts";
import type { Rows } from "./statement.ts";

/**
 * SQL: the number of changes in a history, and the instant of the one whose digits begin there; see `packChange`. Each
 * argument has the type of the function in pg_catalog: one without a type could call a function of somebody else.
 */
export const changesIn = (history: string) =>
  `length(${history}) - length(replace(${history}, ';'::text, ''::text))`;
const instantAt = (history: string, start: string) =>
  `split_part(split_part(split_part(substr(${history}, ${start}), ';'::text, 1), ','::text, 1), '.'::text, 1)::bigint`;

const addToOutbox = (outbox: string) => `IF TG_OP = 'INSERT' THEN
    INSERT INTO ${outbox} (id, delivered, changes, since)
      SELECT id, 0, ${changesIn("history")}, ${instantAt("history", "2")} FROM n WHERE history <> ''
      ON CONFLICT DO NOTHING;
  ELSE
    INSERT INTO ${outbox} (id, delivered, changes, since)
      SELECT n.id, ${changesIn("o.history")}, ${changesIn("n.history")}, ${instantAt("n.history", "length(o.history) + 2")}
      FROM n JOIN o ON o.id = n.id WHERE length(n.history) > length(o.history) ORDER BY n.id
      ON CONFLICT (id) DO UPDATE SET changes = excluded.changes;
  END IF;
  RETURN NULL;`;

/** The settings and the text of the trigger function, as the server shows them. */
export const OUTBOX_FUNCTION = {
  settings: "search_path=pg_catalog, pg_temp",
  /**
   * It finds the table by the schema of its trigger, which can be renamed. The statements have no schema in their text:
   * so their plans are kept, and made anew for another schema. The function's own setting ends what it sets.
   */
  text: `
DECLARE
  path text;
BEGIN
  path := pg_catalog.set_config('search_path', pg_catalog.format('pg_catalog, %I, pg_temp', TG_TABLE_SCHEMA), true);
  ${addToOutbox("outbox")}
END `,
};

export const OUTBOX_TRIGGERS = ["outbox_placed", "outbox_changed"];

/**
 * SQL: makes a trigger fire in sessions of every role. Otherwise a role with `session_replication_role = replica` would
 * lose changes. Triggers of a statement are not fired for what logical replication applies.
 */
export const enableAlways = (schema: string, trigger: string) =>
  `ALTER TABLE ${schema}.orders ENABLE ALWAYS TRIGGER ${trigger}`;

/**
 * One script per schema version, for the schema of that (quoted) name. Never change a released script; add another.
 *
 * `orders.record` is the record in wire form, so that listing copies text, and `history` its changes; see `packChange`.
 * No column that a request changes has an index, and pages have free space, so that an update stays on its page.
 * `api_keys.rejections_start` and `rejections_count` are the rejections of the key in the minute that starts there (while
 * the count is 0, the instant of the first one), and `used_at` is the minute of its last admitted request.
 */
export const MIGRATIONS: readonly ((schema: string) => string)[] = [
  (schema) => `CREATE TABLE ${schema}.orders (
  id bigint PRIMARY KEY,
  status text NOT NULL,
  record text NOT NULL
) WITH (fillfactor = 90);

CREATE TABLE ${schema}.accounts (
  id text COLLATE "C" PRIMARY KEY,
  plan text NOT NULL,
  per_minute bigint,
  per_day bigint,
  minute_start bigint NOT NULL DEFAULT 0,
  minute_count bigint NOT NULL DEFAULT 0,
  day_start bigint NOT NULL DEFAULT 0,
  day_count bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

CREATE TABLE ${schema}.api_keys (
  account text COLLATE "C" NOT NULL REFERENCES ${schema}.accounts (id),
  hash text COLLATE "C" NOT NULL,
  id text NOT NULL,
  position integer NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint,
  revoked_at bigint,
  successor_id text,
  rejections_start bigint,
  rejections_count bigint,
  banned_until bigint,
  name text,
  used_at bigint,
  PRIMARY KEY (account, hash)
) WITH (fillfactor = 50);

CREATE TABLE ${schema}.settings (name text PRIMARY KEY, value text NOT NULL);`,

  (schema) => `ALTER TABLE ${schema}.orders ADD COLUMN history text NOT NULL DEFAULT '';

CREATE TABLE ${schema}.outbox (
  id bigint PRIMARY KEY,
  delivered integer NOT NULL,
  changes integer NOT NULL,
  since bigint NOT NULL,
  due bigint NOT NULL DEFAULT 0,
  attempts integer NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
CREATE INDEX outbox_due ON ${schema}.outbox (due, since);

CREATE FUNCTION ${schema}.add_to_outbox() RETURNS trigger LANGUAGE plpgsql AS ${dollarQuoted(`
BEGIN
  ${addToOutbox(`${schema}.outbox`)}
END `)};`,

  (schema) => `CREATE OR REPLACE FUNCTION ${schema}.add_to_outbox() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS ${dollarQuoted(OUTBOX_FUNCTION.text)};

DO ${dollarQuoted(`
DECLARE
  name text;
BEGIN
  FOR name IN SELECT t.tgname FROM pg_catalog.pg_trigger t
    WHERE t.tgrelid = ${toLiteral(`${schema}.orders`)}::regclass AND t.tgname IN (${OUTBOX_TRIGGERS.map(toLiteral)})
  LOOP
    EXECUTE ${toLiteral(enableAlways(schema, ""))} || name;
  END LOOP;
END `)};

CREATE UNIQUE INDEX api_keys_hash ON ${schema}.api_keys (hash);`,
];

export const TABLES = ["orders", "outbox", "accounts", "api_keys", "settings"];

/** The tables that the scripts from the second on change, and that whose lock keeps the requests out. */
const MIGRATED_TABLES = ["settings", "orders", "api_keys"];

/** None is named by its application: behind PgBouncer, that is another client's. */
export const FIND_BLOCKERS =
  "While it waits, psql finds them (a prepared transaction as pid 0) with: SELECT DISTINCT b.pid, usename, state, " +
  "xact_start, query FROM pg_locks l, unnest(pg_blocking_pids(l.pid)) b(pid) LEFT JOIN pg_stat_activity a ON a.pid = b.pid " +
  "WHERE NOT l.granted AND cardinality(pg_blocking_pids(b.pid)) = 0 \\watch 1";

/** A text in dollar quotes that it does not contain. */
function dollarQuoted(text: string): string {
  let quote = "$store_orders$";
  while (text.includes(quote)) quote = quote.replace(/\$$/, "_$");
  return `${quote}${text}${quote}`;
}

export const SCHEMA_VERSION = MIGRATIONS.length;

/** Throws `InvalidInputError` for a name that no schema can have. */
export function quoteSchema(name: string): string {
  if (typeof name !== "string" || !/^(?!pg_)[^\0]{1,63}$/u.test(name) || Buffer.byteLength(name) > 63)
    throw invalidInput("schema", "Use the name of a schema: at most 63 bytes, not starting with pg_.");
  return `"${name.replaceAll('"', '""')}"`;
}

/**
 * The SQL that creates or migrates the tables, for those who apply it themselves: one statement, so that it has an effect
 * as a whole or not at all. On tables of this version it changes nothing, on those of a newer one it fails.
 */
export function postgresMigrationSql(options: { readonly schema?: string | undefined } = {}): string {
  assertOptions(options, ["schema"]);
  const { schema = DEFAULT_SCHEMA } = options;
  return migrationSql(schema, MIGRATIONS, LONG_LOCK_WAIT_SQL);
}

/** Requests wait behind it. So it is short, but not shorter than that after which autovacuum gives way. */
const LONG_LOCK_WAIT_SQL =
  "((extract(epoch FROM current_setting('deadlock_timeout')::interval) * 1000 + 500)::integer)::text";

/** `lockWait` is SQL for the longest wait for a lock. Without it, that of the transaction is kept. */
function migrationSql(schema: string, scripts: typeof MIGRATIONS, lockWait = "wait"): string {
  const name = quoteSchema(schema);
  const to = scripts.length;
  const steps = scripts.map((script, from) => `IF version < ${from + 1} THEN\n\n${script(name)}\n\nEND IF;`);
  return `DO ${dollarQuoted(`
DECLARE
  version integer := 0;
  path text := pg_catalog.current_setting('search_path');
  wait text := pg_catalog.current_setting('lock_timeout');
BEGIN
PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
PERFORM set_config('lock_timeout', ${lockWait}, true);
BEGIN
  -- Of several migrations at once, one runs.
  PERFORM pg_advisory_xact_lock(${MIGRATION_LOCK});
  -- Creating a schema takes a permission that its owner need not have, also if it exists.
  IF NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = ${toLiteral(schema)}) THEN
    CREATE SCHEMA ${name};
  END IF;
  IF EXISTS (SELECT FROM ${tablesOf(schema)} AND tablename = 'settings') THEN
    SELECT value INTO STRICT version FROM ${name}.settings WHERE name = 'schema_version';
    IF version > ${to} THEN
      RAISE EXCEPTION 'The tables have schema version %, and this is for version ${to}. Upgrade store-orders.', version;
    ELSIF version < ${to} THEN
      -- Waits for the transactions that have read the version. Those that begin wait for this one.
      LOCK TABLE ${MIGRATED_TABLES.map((table) => `${name}.${table}`).join(", ")} IN ACCESS EXCLUSIVE MODE;
    END IF;
  END IF;
EXCEPTION WHEN lock_not_available THEN
  RAISE EXCEPTION 'Other transactions use the tables. Nothing was changed. Run this again.' USING ERRCODE = 'lock_not_available',
    HINT = ${toLiteral(FIND_BLOCKERS)};
END;
PERFORM set_config('lock_timeout', wait, true);

${steps.join("\n\n")}

IF version < ${to} THEN
  INSERT INTO ${name}.settings (name, value) VALUES ('schema_version', '${to}')
    ON CONFLICT (name) DO UPDATE SET value = excluded.value;
END IF;
PERFORM set_config('search_path', path, true);
END `)};
`;
}

/** Reads the catalogue: a function such as to_regclass() can return what this session knew before it had the lock. */
const tablesOf = (schema: string) => `pg_catalog.pg_tables WHERE schemaname = ${toLiteral(schema)}`;

/** The literal of a text, whether or not the session reads a backslash as the start of an escape. */
export const toLiteral = (text: string) => `E'${text.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;

export const DEFAULT_SCHEMA = "store_orders";

/** The versions of a schema before and after a migration; 0 if there were no tables. */
export interface MigrationResult {
  readonly from: number;
  readonly to: number;
}

/** "SOrd". */
export const MIGRATION_LOCK = 0x534f7264;

/**
 * In the transaction of the caller. Of several processes that start at once, one does it. With `existing`, missing tables
 * are an error, with `onlyIfEmpty` those of an older version.
 */
export async function migrate(
  execute: (text: string) => Promise<Rows>,
  schema: string,
  { existing = false, onlyIfEmpty = false, scripts = MIGRATIONS } = {},
): Promise<MigrationResult> {
  const to = scripts.length;
  const readVersion = async () => {
    const found = await execute(`SELECT tablename FROM ${tablesOf(schema)}`);
    const missing = TABLES.filter((table) => !found.some(([name]) => name === table));
    if (missing.length === TABLES.length && !existing) return 0;
    if (missing.includes("settings")) throw missingTables(schema, missing);
    const text = `SELECT value FROM ${quoteSchema(schema)}.settings WHERE name = 'schema_version'`;
    const version = Number((await execute(text))[0]?.[0] ?? 0);
    if (version !== to && (!(version > 0 && version < to) || onlyIfEmpty)) throw wrongVersion(version);
    if (version === to && missing.length > 0) throw missingTables(schema, missing);
    return version;
  };
  // Tables of this version need no lock, which another session can hold.
  if ((await readVersion()) === to) return { from: to, to };
  await execute(`SELECT pg_catalog.pg_advisory_xact_lock(${MIGRATION_LOCK})`);
  const from = await readVersion();
  if (from === to) return { from, to };
  try {
    await execute(migrationSql(schema, scripts));
  } catch (error) {
    const forbidden = `The role may not create tables. Run ${COMMAND} as a role that may, or apply what --print prints.`;
    if (isForbidden(error)) throw new StoreUnavailableError(forbidden, { cause: error });
    throw error instanceof DatabaseError && error.sqlState === "23505" ? sameHash(schema, error) : error;
  }
  return { from, to };
}

function sameHash(schema: string, cause: unknown): StoreUnavailableError {
  const keys = `${quoteSchema(schema)}.api_keys`;
  const message =
    "Two accounts have the same key. Delete one of the rows, which this finds: SELECT account, id, hash FROM " +
    `${keys} WHERE hash IN (SELECT hash FROM ${keys} GROUP BY hash HAVING count(*) > 1).`;
  return new StoreUnavailableError(message, { cause });
}

const COMMAND = "'store-orders database migrate --postgres URL'";

export function wrongVersion(version: number): StoreUnavailableError {
  if (version > SCHEMA_VERSION) {
    const cause = new NewerSchemaError(
      `The database has schema version ${version}; this version supports up to ${SCHEMA_VERSION}. Upgrade store-orders.`,
    );
    const message = "A newer version has migrated the database. Upgrade store-orders.";
    return new StoreUnavailableError(message, { cause, retryable: false });
  }
  const message = !(version > 0)
    ? `The table settings has no number above 0 as its schema_version. ${RESTORE}`
    : `The database has schema version ${version}, and this version needs ${SCHEMA_VERSION}. Run ${COMMAND}.`;
  return new StoreUnavailableError(message);
}

function missingTables(schema: string, missing: readonly string[]): StoreUnavailableError {
  const problem =
    missing.length < TABLES.length
      ? `lacks tables: ${missing.join(", ")}. ${RESTORE}`
      : `of the database has no tables of store-orders. Restore them, or create them with ${COMMAND}.`;
  return new StoreUnavailableError(`The schema ${quoteSchema(schema)} ${problem}`);
}
