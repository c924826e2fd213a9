import type { DatabaseSync } from "node:sqlite";
import { NewerSchemaError, StoreUnavailableError } from "../../errors.ts";

/** "SOrd": tells a database of ours from one of somebody else's. */
const APPLICATION_ID = 0x534f7264;

/** One script a version, the first one first. A script that has been released never changes; add another. */
const MIGRATIONS: readonly string[] = [
  `CREATE TABLE orders (
     id INTEGER PRIMARY KEY,
     status TEXT NOT NULL,
     record TEXT NOT NULL            -- in wire form, so that listing copies text
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
];

/** The schema version of this program. */
export const SCHEMA_VERSION = MIGRATIONS.length;

/**
 * Brings a database to the present version, step by step, each in one transaction. One that is not ours, or that
 * a newer version wrote, is refused and not touched; with `existing`, so is an empty one.
 */
export function migrate(db: DatabaseSync, { existing = false } = {}): void {
  const version = versionOf(db);
  if (version === 0 && existing) throw new StoreUnavailableError("The database is empty.");
  if (version < SCHEMA_VERSION) {
    db.exec("BEGIN IMMEDIATE");
    try {
      // Another process may have done it while this one waited for the lock.
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
 * Makes a check for every transaction: a newer program may migrate a database that this one is serving, and nothing
 * must be written to a schema that is not known. Waiting helps where the newer program is what answers then.
 */
export function versionCheck(db: DatabaseSync): () => void {
  const read = db.prepare("PRAGMA user_version");
  read.setReturnArrays(true);
  return () => {
    const [version] = read.get() as unknown as readonly [number];
    if (version === SCHEMA_VERSION) return;
    const cause = new NewerSchemaError(`The database has schema version ${version} now.`);
    throw new StoreUnavailableError("The database was migrated by another program.", { cause });
  };
}

function versionOf(db: DatabaseSync): number {
  // One statement, so that another process that is just migrating is seen before or after, and never halfway.
  const seen = db.prepare(
    `SELECT (SELECT count(*) FROM sqlite_schema) AS tables, (SELECT user_version FROM pragma_user_version) AS version,
            (SELECT application_id FROM pragma_application_id) AS owner`,
  );
  const { tables, version, owner } = seen.get() as { tables: number; version: number; owner: number };
  const empty = version === 0 && owner === 0 && tables === 0;
  if (!empty && owner !== APPLICATION_ID) {
    throw new StoreUnavailableError("The file is a database of another program. Give another path.");
  }
  if (version > SCHEMA_VERSION) {
    throw new NewerSchemaError(
      `The database has schema version ${version}; this program knows up to ${SCHEMA_VERSION}. Upgrade store-orders.`,
    );
  }
  return version;
}
