import { DatabaseSync } from "node:sqlite";

/** Holds a database as another process does that is writing to it. */
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
