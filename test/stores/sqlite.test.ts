import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, test } from "vitest";
import { storeContract } from "../../lib/contract/index.ts";
import { createSqliteStore } from "../../lib/stores/sqlite.ts";

const folder = mkdtempSync(join(tmpdir(), "store-orders-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("the SQLite store keeps every promise of a store", () => {
  for (const [index, { promise, check }] of storeContract.entries()) {
    test(promise, async () => {
      const store = createSqliteStore({ path: join(folder, `${index}.db`) });
      try {
        await check(store);
      } finally {
        await store.close();
      }
    });
  }
});
