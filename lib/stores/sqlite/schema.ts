import type { DatabaseSync } from "node:sqlite";
import { NewerSchemaError, StoreUnavailableError } from "../../core/errors.ts";

/** "SOrd". */
const APPLICATION_ID = 0x534f7264;

/** Versions 1 to 4 were never released. */
const FIRST_VERSION = 5;

/**
 * One script per schema version. Never change a released script; add another.
 *
 * `orders.record` is the record in wire form, so that listing copies text, and `history` its changes; see `packChange`.
 * Orders are counted by reading them: a table of counts, or an index on `status`, would write more pages for each cancel.
 * `api_keys.rejections_start` and `rejections_count` are the rejections of the key in the minute that starts there (while
 * the count is 0, the instant of the first one), and `used_at` is the minute of its last admitted request.
 */
export const MIGRATIONS: readonly string[] = [
  `CREATE TABLE orders (
     id INTEGER PRIMARY KEY,
     status TEXT NOT NULL,
     record TEXT NOT NULL,
     history TEXT NOT NULL
   ) STRICT;

   CREATE TABLE outbox (
     id INTEGER PRIMARY KEY REFERENCES orders (id),
     delivered INTEGER NOT NULL,
     since INTEGER NOT NULL,
     due INTEGER NOT NULL DEFAULT 0,
     attempts INTEGER NOT NULL DEFAULT 0
   ) STRICT;
   CREATE INDEX outbox_due ON outbox (due, since);

   CREATE TABLE order_counts (status TEXT PRIMARY KEY, count INTEGER NOT NULL) STRICT, WITHOUT ROWID;
   INSERT INTO order_counts VALUES ('pending', 0), ('shipped', 0), ('cancelled', 0);
   CREATE TRIGGER count_changed AFTER UPDATE OF status ON orders WHEN old.status <> new.status BEGIN
     UPDATE order_counts SET count = count - 1 WHERE status = old.status;
     UPDATE order_counts SET count = count + 1 WHERE status = new.status;
   END;
   CREATE TRIGGER count_deleted AFTER DELETE ON orders BEGIN
     UPDATE order_counts SET count = count - 1 WHERE status = old.status;
   END;

   CREATE TABLE accounts (
     id TEXT PRIMARY KEY,
     plan TEXT NOT NULL,
     per_minute INTEGER,
     per_day INTEGER,
     minute_start INTEGER NOT NULL DEFAULT 0,
     minute_count INTEGER NOT NULL DEFAULT 0,
     day_start INTEGER NOT NULL DEFAULT 0,
     day_count INTEGER NOT NULL DEFAULT 0
   ) STRICT, WITHOUT ROWID;

   CREATE TABLE api_keys (
     hash TEXT PRIMARY KEY,
     id TEXT NOT NULL UNIQUE,
     account TEXT NOT NULL REFERENCES accounts (id),
     position INTEGER NOT NULL,
     created_at INTEGER NOT NULL,
     expires_at INTEGER,
     revoked_at INTEGER,
     successor_id TEXT,
     rejections_start INTEGER,
     rejections_count INTEGER,
     banned_until INTEGER,
     name TEXT,
     used_at INTEGER
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX api_keys_of_account ON api_keys (account, position);

   CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;`,

  // Counts every status, also one that this version does not know.
  `INSERT INTO order_counts SELECT status, count(*) FROM orders
     WHERE status NOT IN (SELECT status FROM order_counts) GROUP BY status;
   DROP TRIGGER count_changed;
   CREATE TRIGGER count_changed AFTER UPDATE OF status ON orders WHEN old.status <> new.status BEGIN
     UPDATE order_counts SET count = count - 1 WHERE status = old.status;
     INSERT INTO order_counts VALUES (new.status, 1) ON CONFLICT (status) DO UPDATE SET count = count + 1;
   END;`,

  "DROP TRIGGER count_changed; DROP TRIGGER count_deleted; DROP TABLE order_counts;",
];

const versionAfter = (scripts: readonly string[]) => FIRST_VERSION + scripts.length - 1;

export const SCHEMA_VERSION = versionAfter(MIGRATIONS);

/** Throws, and changes nothing, as `versionOf` does; with `existing`, also for an empty database. */
export function migrate(db: DatabaseSync, { existing = false, scripts = MIGRATIONS } = {}): void {
  const target = versionAfter(scripts);
  const version = versionOf(db, target);
  if (version === 0 && existing) throw new StoreUnavailableError(EMPTY);
  // The `.dump` of `sqlite3` loses who wrote a database, and in which version.
  const { owner } = db.prepare("SELECT application_id AS owner FROM pragma_application_id").get() ?? {};
  if (version === target && owner !== 0) return;
  db.exec("BEGIN IMMEDIATE");
  try {
    // Another process may have migrated it while this one waited for the lock.
    const current = versionOf(db, target);
    for (const script of scripts.slice(current === 0 ? 0 : current - FIRST_VERSION + 1)) db.exec(script);
    db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${target}; COMMIT`);
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

export const EMPTY = "The database is empty. Restore it from a backup.";

/** 0 for an empty database. Throws for one of another program, of an unreleased version or of one above `supported`. */
export function versionOf(db: DatabaseSync, supported = SCHEMA_VERSION): number {
  // One statement, so that a migration by another process is seen entirely or not at all.
  const inspect = db.prepare(
    `SELECT (SELECT count(*) FROM sqlite_schema) AS tables, (SELECT user_version FROM pragma_user_version) AS version,
            (SELECT application_id FROM pragma_application_id) AS owner`,
  );
  const { tables, version, owner } = inspect.get() as { tables: number; version: number; owner: number };
  if (version === 0 && owner === 0) {
    if (tables === 0) return 0;
    const unmarked = versionOfTables(db);
    if (unmarked !== undefined) return unmarked;
  }
  if (owner !== APPLICATION_ID)
    throw unusable("The file is a database of another program. Give another path.");
  if (version > supported) {
    throw new NewerSchemaError(
      `The database has schema version ${version}; this version supports up to ${supported}. Upgrade store-orders.`,
    );
  }
  if (version < FIRST_VERSION) {
    throw unusable(
      `The database has schema version ${version}, of store-orders before its first release. Export its orders with ` +
        "the program that wrote it, import them into a new database, and issue new keys.",
    );
  }
  return version;
}

/** Without the triggers of an outbox that is on, and without what ANALYZE adds. */
const SELECT_SCHEMA = `SELECT name, sql FROM sqlite_schema
  WHERE sql > '' AND name NOT IN ('outbox_placed', 'outbox_changed') AND name NOT GLOB 'sqlite_stat*' ORDER BY name`;

function versionOfTables(db: DatabaseSync): number | undefined {
  const schemaOf = (each: DatabaseSync) => JSON.stringify(each.prepare(SELECT_SCHEMA).all());
  const found = schemaOf(db);
  const empty = new (db.constructor as typeof DatabaseSync)(":memory:");
  const index = MIGRATIONS.findIndex((script) => {
    empty.exec(script);
    return schemaOf(empty) === found;
  });
  empty.close();
  return index === -1 ? undefined : FIRST_VERSION + index;
}

function unusable(problem: string): StoreUnavailableError {
  return new StoreUnavailableError(problem, { retryable: false });
}
