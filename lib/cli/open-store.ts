import type { Store } from "../stores/store.ts";
import type { StoreChoice } from "./settings.ts";

/** A store that is open, and what people call it. */
export interface OpenedStore {
  readonly store: Store;
  readonly name: string;
}

/** Opens the store that was chosen. Each kind is loaded only when it is asked for. */
export async function openStore(choice: StoreChoice): Promise<OpenedStore> {
  switch (choice.kind) {
    case "sqlite": {
      const { createSqliteStore } = await import("../stores/sqlite.ts");
      return { store: createSqliteStore({ path: choice.path }), name: choice.path };
    }
    case "dynamodb": {
      const { createDynamodbStore } = await import("../stores/dynamodb.ts");
      const { prefix } = choice;
      return {
        store: createDynamodbStore({ prefix }),
        name: `DynamoDB, ${prefix}-orders and ${prefix}-accounts`,
      };
    }
  }
}
