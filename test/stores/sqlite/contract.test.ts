import { renameSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { describe, test } from "vitest";
import { createSqliteStore } from "../../../lib/stores/sqlite/index.ts";
import { noPosix } from "../../support/skip-reason.ts";
import { expectKeysOfOneAccount } from "../key-of-another.ts";
import { testContract } from "../test-contract.ts";
import { temporaryDirectory } from "./fixture.ts";

const { newPath, open } = temporaryDirectory();

describe("the SQLite store fulfils the store contract", () => {
  testContract(
    "SQLite",
    () => {
      const path = newPath();
      return {
        store: createSqliteStore({ path }),
        openAnother: () => createSqliteStore({ path }),
        damage(id, part) {
          const db = new DatabaseSync(path);
          const text = part === "record" ? '{"id":' : "?;";
          db.prepare(`UPDATE orders SET ${part} = ? WHERE id = ?`).run(text, id);
          db.close();
        },
        async interrupt() {
          renameSync(path, `${path}.away`);
          return () => renameSync(`${path}.away`, path);
        },
      };
    },
    {
      loseResponse: "there is no network before a file",
      ...(noPosix === undefined ? {} : { interrupt: noPosix }),
    },
  );

  test("a key with the hash of another account's is an error", () => expectKeysOfOneAccount(open().store));
});
