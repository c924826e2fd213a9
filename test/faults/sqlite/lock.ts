import { DatabaseSync } from "node:sqlite";

/** Locks a database as another writing process does. */
export function holdLock(path: string): { release(): void } {
  const db = new DatabaseSync(path, { timeout: 5_000 });
  db.exec("BEGIN IMMEDIATE");
  return {
    release() {
      db.exec("COMMIT");
      db.close();
    },
  };
}
