import { existsSync, statSync } from "node:fs";
import { invalidInput } from "../errors.ts";
import type { Store } from "../stores/store.ts";
import type { StoreChoice } from "./settings.ts";
import type { Terminal } from "./terminal.ts";

/** An open store with its display name. */
export interface OpenedStore {
  readonly store: Store;
  readonly name: string;
  /** True if the store was just created. */
  readonly isNew: boolean;
  /** Reads from the store. Throws if it cannot be reached, with what is missing. */
  check(): Promise<void>;
  /** Replaces an error by one that names what is missing and the fix, if that is known. */
  explain(error: unknown): unknown;
}

/**
 * Opens a store, and loads only the code for its kind. Unless `create` is true, a missing database is an error, so that
 * a typo in the path does not create an empty one.
 */
export async function openStore(
  choice: StoreChoice,
  { create }: { readonly create: boolean },
  { log }: Pick<Terminal, "log">,
): Promise<OpenedStore> {
  switch (choice.kind) {
    case "sqlite": {
      if (!create) requireDatabase(choice.path);
      const isNew = !existsSync(choice.path);
      const { createSqliteStore } = await import("../stores/sqlite/index.ts");
      const store = createSqliteStore({ path: choice.path });
      if (isAccessibleToOthers(choice.path)) {
        log(
          `Warning: other users can access ${choice.path}, and it belongs to another user. ` +
            `Run 'chmod 600 ${choice.path}' as its owner.`,
        );
      }
      const check = async () => void (await store.orders.find(0n));
      return { store, name: choice.path, isNew, check, explain: (error) => error };
    }
    case "dynamodb": {
      const { createDynamodbStore } = await import("../stores/dynamodb/index.ts");
      const { checkDynamodbTables, explainDynamodbError } = await import("./dynamodb-errors.ts");
      const { prefix } = choice;
      const store = createDynamodbStore({ prefix });
      return {
        store,
        name: `DynamoDB, ${prefix}-orders and ${prefix}-accounts`,
        isNew: false,
        check: () => checkDynamodbTables(store, prefix),
        explain: (error) => explainDynamodbError(error, prefix),
      };
    }
  }
}

/** Throws if there is no database file at a path. */
export function requireDatabase(path: string): void {
  if (existsSync(path)) return;
  const message =
    `There is no database at ${path}. Check the path, or create a database with ` +
    "'accounts create', 'orders place', 'orders import' or 'serve'.";
  throw invalidInput("--database", message);
}

/** True if the store could not make the database private. Windows has no file modes. */
function isAccessibleToOthers(path: string): boolean {
  return (
    process.platform !== "win32" && ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0
  );
}
