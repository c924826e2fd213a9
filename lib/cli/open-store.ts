import { existsSync } from "node:fs";
import { InvalidInputError } from "../errors.ts";
import type { Store } from "../stores/store.ts";
import type { StoreChoice } from "./settings.ts";

/** An open store with its display name. */
export interface OpenedStore {
  readonly store: Store;
  readonly name: string;
}

/**
 * Opens a store, and loads only the code for its kind. Unless `create` is true, a missing database is an error, so that
 * a typo in the path does not create an empty one.
 */
export async function openStore(
  choice: StoreChoice,
  { create }: { readonly create: boolean },
): Promise<OpenedStore> {
  switch (choice.kind) {
    case "sqlite": {
      if (!create && !existsSync(choice.path)) {
        const message =
          `There is no database at ${choice.path}. Check the path, or create a database with ` +
          "'accounts create', 'orders place', 'orders import' or 'serve'.";
        throw new InvalidInputError([{ path: "--database", message }]);
      }
      const { createSqliteStore } = await import("../stores/sqlite/index.ts");
      return { store: createSqliteStore({ path: choice.path }), name: choice.path };
    }
    case "dynamodb": {
      const { createDynamodbStore } = await import("../stores/dynamodb/index.ts");
      const { prefix } = choice;
      return {
        store: createDynamodbStore({ prefix }),
        name: `DynamoDB, ${prefix}-orders and ${prefix}-accounts`,
      };
    }
  }
}
