import type { DatabaseSync } from "node:sqlite";

/** Creates a function that runs a part of a transaction. If the part throws, the rest of the transaction is kept. */
export function allOrNothing(db: DatabaseSync): <T>(part: () => T) => T {
  return (part) => {
    db.exec("SAVEPOINT part");
    try {
      const value = part();
      db.exec("RELEASE part");
      return value;
    } catch (error) {
      // After some errors, such as a full disk, SQLite has already ended the transaction.
      if (db.isTransaction) db.exec("ROLLBACK TO part; RELEASE part");
      throw error;
    }
  };
}
