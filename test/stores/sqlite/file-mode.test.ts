import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { backUpSqlite } from "../../../lib/stores/sqlite/backup.ts";
import { createSqliteStore } from "../../../lib/stores/sqlite/index.ts";
import { noPosix, skipsBecause } from "../../support/skip-reason.ts";

const directory = mkdtempSync(join(tmpdir(), "store-orders-"));
afterAll(() => rmSync(directory, { recursive: true }));
const modeOf = (path: string) => statSync(path).mode & 0o777;

describe.skipIf(skipsBecause("the mode of a database file", noPosix))("the mode of a database file", () => {
  test("a database that other users could read becomes private when it is opened, with its log files", async () => {
    const path = join(directory, "restored.db");
    await createSqliteStore({ path }).close();
    chmodSync(path, 0o644);
    const store = createSqliteStore({ path });
    for (const suffix of ["", "-wal", "-shm"]) expect(modeOf(path + suffix), suffix).toBe(0o600);
    await store.close();
  });

  test("a database behind a symbolic link becomes private too, and a deleted log file is noticed", async () => {
    const target = join(directory, "target.db");
    const link = join(directory, "link.db");
    await createSqliteStore({ path: target }).close();
    chmodSync(target, 0o644);
    symlinkSync(target, link);
    const store = createSqliteStore({ path: link });
    for (const suffix of ["", "-wal", "-shm"]) expect(modeOf(target + suffix), suffix).toBe(0o600);
    rmSync(`${target}-wal`);
    await expect(store.orders.place([{ record: { id: 1n }, status: "pending" }])).rejects.toThrow(
      "The write-ahead log",
    );
    await store.close();
  });

  test("a path that SQLite would read as a URI is the path of a file, as for everything else", async () => {
    const cwd = process.cwd();
    onTestFinished(() => process.chdir(cwd));
    process.chdir(directory);
    const path = "file:named.db?mode=memory";
    const store = createSqliteStore({ path });
    await store.orders.place([{ record: { id: 1n }, status: "pending" }]);
    for (const suffix of ["", "-wal", "-shm"]) expect(modeOf(path + suffix), suffix).toBe(0o600);
    expect(await backUpSqlite({ path, to: "file:copy.db" })).toEqual({ ok: true });
    await store.close();
    const copy = createSqliteStore({ path: join(directory, "file:copy.db") });
    expect((await copy.orders.find(1n))?.status).toBe("pending");
    await copy.close();
    expect(readdirSync(directory).filter((name) => /^(named|copy)/.test(name))).toEqual([]);
  });

  test("a file that is not a database of this package keeps its mode", () => {
    const foreign = join(directory, "foreign.db");
    new DatabaseSync(foreign).exec("CREATE TABLE foreign_table (x)");
    const text = join(directory, "text.db");
    writeFileSync(text, "This text is not a database. ".repeat(50));
    for (const path of [foreign, text]) {
      chmodSync(path, 0o644);
      expect(() => createSqliteStore({ path })).toThrow();
      expect(modeOf(path)).toBe(0o644);
    }
  });
});
