import { describe, test } from "vitest";
import { storeContract } from "../../../lib/stores/contract/index.ts";
import { createSqliteStore } from "../../../lib/stores/sqlite/index.ts";
import { temporaryDirectory } from "./fixture.ts";

const { newPath } = temporaryDirectory();

describe("the SQLite store fulfils the store contract", () => {
  for (const { name, check } of storeContract) {
    test(name, async () => {
      const store = createSqliteStore({ path: newPath() });
      try {
        await check(store);
      } finally {
        await store.close();
      }
    });
  }
});
