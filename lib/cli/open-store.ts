import { existsSync } from "node:fs";
import { InvalidInputError } from "../errors.ts";
import type { Store } from "../stores/store.ts";
import type { StoreChoice } from "./settings.ts";

/** A store that is open, and what people call it. */
export interface OpenedStore {
  readonly store: Store;
  readonly name: string;
}

/**
 * Opens the store that was chosen. Each kind is loaded only when it is asked for. Unless the command `makes` a
 * database, there has to be one: a mistyped path is not an empty shop.
 */
export async function openStore(
  choice: StoreChoice,
  { makes }: { readonly makes: boolean },
): Promise<OpenedStore> {
  switch (choice.kind) {
    case "sqlite": {
      if (!makes && !existsSync(choice.path)) {
        const message = `There is no database at ${choice.path}. 'accounts create', 'orders place', 'orders import' and 'serve' make one.`;
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
