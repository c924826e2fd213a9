import type { DatabaseSync } from "node:sqlite";
import { NewerSchemaError, StoreUnavailableError } from "../../errors.ts";

/** "SOrd". Distinguishes our databases from those of other programs. */
const APPLICATION_ID = 0x534f7264;

/**
 * One script per schema version. Never change a released script; add another.
 *
 * `orders.record` is the record in wire form, so that listing copies text. `api_keys.refused_start` and `refused_count`
 * are the rejections of the key in the minute that starts there, and `banned_until` the ban that followed.
 */
const MIGRATIONS: readonly string[] = [
  `CREATE TABLE orders (
     id INTEGER PRIMARY KEY,
     status TEXT NOT NULL,
     record TEXT NOT NULL
   ) STRICT;

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
     refused_start INTEGER,
     refused_count INTEGER,
     banned_until INTEGER
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX api_keys_of_account ON api_keys (account, position);`,

  // An earlier version stored an expiry that no date can represent, and no JavaScript number exactly.
  `ALTER TABLE api_keys ADD COLUMN successor_id TEXT;
   UPDATE api_keys SET expires_at = 8640000000000000 WHERE expires_at > 8640000000000000;`,

  // What is true for the whole store: `environment`, that of its keys.
  "CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;",
];

/** The schema version of this program. */
export const SCHEMA_VERSION = MIGRATIONS.length;

/**
 * Migrates a database to the current version in one transaction. Throws, and changes nothing, if another program or a
 * newer version wrote it. With `existing`, an empty database is an error too.
 */
export function migrate(db: DatabaseSync, { existing = false } = {}): void {
  const version = versionOf(db);
  if (version === 0 && existing)
    throw new StoreUnavailableError("The database is empty. Restore it from a backup.");
  if (version < SCHEMA_VERSION) {
    db.exec("BEGIN IMMEDIATE");
    try {
      // Another process may have migrated it while this one waited for the lock.
      for (let version = versionOf(db); version < SCHEMA_VERSION; version++)
        db.exec(MIGRATIONS[version] ?? "");
      db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${SCHEMA_VERSION}; COMMIT`);
    } catch (error) {
      if (db.isTransaction) db.exec("ROLLBACK");
      throw error;
    }
  }
}

/**
 * Creates a check to run in every transaction: a newer version may migrate the database while this one serves it, and
 * nothing must be written to an unknown schema.
 */
export function versionCheck(db: DatabaseSync): () => void {
  const read = db.prepare("PRAGMA user_version");
  read.setReturnArrays(true);
  return () => {
    const [version] = read.get() as unknown as readonly [number];
    if (version === SCHEMA_VERSION) return;
    const cause = new NewerSchemaError(`The database now has schema version ${version}.`);
    throw new StoreUnavailableError("A newer version has migrated the database. Upgrade store-orders.", {
      cause,
      retryable: false,
    });
  };
}

/** Reads the schema version, 0 for an empty database. Throws for a database of another program or a newer version. */
export function versionOf(db: DatabaseSync): number {
  // One statement, so that a migration by another process is seen entirely or not at all.
  const inspect = db.prepare(
    `SELECT (SELECT count(*) FROM sqlite_schema) AS tables, (SELECT user_version FROM pragma_user_version) AS version,
            (SELECT application_id FROM pragma_application_id) AS owner`,
  );
  const { tables, version, owner } = inspect.get() as { tables: number; version: number; owner: number };
  const isEmpty = version === 0 && owner === 0 && tables === 0;
  if (!isEmpty && owner !== APPLICATION_ID) {
    throw new StoreUnavailableError("The file is a database of another program. Give another path.", {
      retryable: false,
    });
  }
  if (version > SCHEMA_VERSION) {
    throw new NewerSchemaError(
      `The database has schema version ${version}; this version supports up to ${SCHEMA_VERSION}. Upgrade store-orders.`,
    );
  }
  return version;
}
