import { mkdtempSync, readdirSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, onTestFinished } from "vitest";
import type { ApiKey } from "../../../lib/accounts/account.ts";
import { createSqliteStore } from "../../../lib/stores/sqlite/index.ts";

export const AT = Date.UTC(2026, 10, 20, 12);
export const KEY: ApiKey = { id: "acme.1", hash: "1".repeat(64), createdAt: AT };
export const ACCOUNT = { id: "acme", plan: "free", keys: [KEY] } as const;
export const PRESENTED = { accountId: "acme", hash: KEY.hash };

/** Creates a directory that is deleted after the tests of a file. `open()` opens a new database until the end of a test. */
export function temporaryDirectory() {
  const directory = mkdtempSync(join(tmpdir(), "store-orders-"));
  afterAll(() => rmSync(directory, { recursive: true }));
  let databases = 0;
  const newPath = () => join(directory, `${databases++}.db`);
  const open = () => {
    const path = newPath();
    const store = createSqliteStore({ path });
    onTestFinished(() => store.close());
    return { path, store };
  };
  return { directory, newPath, open };
}

/** The files that this process has open. None on systems that do not tell. */
export function openFiles(): readonly string[] {
  const folder = "/proc/self/fd";
  if (process.platform !== "linux") return [];
  return readdirSync(folder).map((name) => {
    try {
      return readlinkSync(join(folder, name));
    } catch {
      return "closed meanwhile";
    }
  });
}

/** Runs SQL by hand, as another program does. */
export function execute(path: string, sql: string): void {
  const db = new DatabaseSync(path);
  db.exec(sql);
  db.close();
}
