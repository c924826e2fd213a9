import { spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { errorMessage, StoreUnavailableError } from "../../../lib/core/errors.ts";
import { backUpSqlite } from "../../../lib/stores/sqlite/backup.ts";
import { databaseFile } from "../../../lib/stores/sqlite/file.ts";
import { createSqliteStore } from "../../../lib/stores/sqlite/index.ts";
import { noPosix, skipsBecause } from "../../support/skip-reason.ts";
import { ACCOUNT, openFiles, temporaryDirectory } from "./fixture.ts";

const { directory, newPath, open } = temporaryDirectory();
const noProc = process.platform === "linux" ? undefined : "only Linux has /proc";

describe("a database file", () => {
  test("a new database is created with its directories, readable by its owner only", async () => {
    const path = join(directory, "new", "directory", "orders.db");
    const store = createSqliteStore({ path });
    await store.accounts.create(ACCOUNT);
    const folders = [join(directory, "new"), join(directory, "new", "directory")];
    for (const created of [...folders, path, `${path}-wal`, `${path}-shm`])
      expect(statSync(created).mode & 0o077, created).toBe(0);
    await store.close();
  });

  test("a database below a file is an error that names the folder that cannot be created", () => {
    const file = newPath();
    writeFileSync(file, "");
    const folder = join(file, "new");
    const problem = { cause: expect.objectContaining({ syscall: "mkdir", path: folder }) };
    expect(() => createSqliteStore({ path: join(folder, "orders.db") })).toThrow(
      expect.objectContaining(problem),
    );
  });

  test.skipIf(skipsBecause("a database below /proc", noProc))(
    "a database below /proc, where no folder can be created, is an error that names the first one",
    () => {
      const module = new URL("../../../lib/stores/sqlite/index.ts", import.meta.url);
      const program = `
        const { createSqliteStore } = await import("${module}");
        try {
          createSqliteStore({ path: "/proc/none/below/orders.db" });
        } catch ({ code, cause }) {
          console.log(code, cause.syscall, cause.path);
        }`;
      // In a process of its own, because Node would never return from `mkdirSync` with `recursive`.
      const { stdout } = spawnSync(process.execPath, ["--input-type=module", "--eval", program], {
        ...{ encoding: "utf8", timeout: 30_000 },
      });
      expect(stdout).toBe("store_unavailable mkdir /proc/none\n");
    },
    40_000,
  );

  test("a file that is not a database, or cannot be opened, makes the store unavailable", () => {
    const path = newPath();
    writeFileSync(path, "This text is not a database. ".repeat(100));
    expect(() => createSqliteStore({ path })).toThrow(StoreUnavailableError);
    expect(openFiles()).not.toContain(path);
    const problem = {
      code: "store_unavailable",
      message: `The database ${directory} cannot be opened.`,
      cause: expect.objectContaining({ code: "EISDIR" }),
    };
    expect(() => createSqliteStore({ path: directory })).toThrow(expect.objectContaining(problem));
  });
});

test.runIf(process.platform === "linux")(
  "a folder shows each change of its entries, also behind a link",
  async () => {
    const path = newPath();
    writeFileSync(path, "");
    const link = join(directory, "link.db");
    symlinkSync(path, link);
    const file = databaseFile(link);
    expect(file.isFolderUnchanged()).toBe(false);
    await sleep(50);
    file.check();
    expect(file.isFolderUnchanged()).toBe(true);
    renameSync(path, `${path}.moved`);
    expect(file.isFolderUnchanged()).toBe(false);
    await sleep(50);
    expect(file.isFolderUnchanged()).toBe(false);
    renameSync(`${path}.moved`, path);
    file.check();
    // Too recent to tell a further change within the same tick of the clock.
    expect(file.isFolderUnchanged()).toBe(false);
  },
);

test("a replaced database is opened without the log of the old one only, and not if it is empty", async () => {
  const { path, store } = open();
  const place = (id: bigint, to = store) => to.orders.place([{ record: { id }, status: "pending" }]);
  await place(1n);
  const other = newPath();
  const replacement = createSqliteStore({ path: other });
  await place(2n, replacement);
  await replacement.close();
  const removeLog = () => {
    for (const suffix of ["-wal", "-shm"]) rmSync(path + suffix);
  };

  renameSync(other, path);
  expect(errorMessage(await place(3n).catch((error: unknown) => error))).toBe(
    `${path} was moved or replaced while it was open. (Another file is open.)`,
  );
  await expect(place(3n)).rejects.toThrow("was replaced, but its -wal and -shm files were not");
  for (const removed of [`${path}-wal`, `${path}-shm`]) {
    renameSync(removed, `${removed}.removed`);
    await expect(place(3n)).rejects.toThrow("was replaced, but its -wal and -shm files were not");
    renameSync(`${removed}.removed`, removed);
  }
  removeLog();
  expect(await place(3n)).toEqual(["placed"]);
  expect([await store.orders.find(1n), await store.orders.find(2n)]).toMatchObject([
    undefined,
    { status: "pending" },
  ]);

  writeFileSync(other, "");
  renameSync(other, path);
  await expect(place(4n)).rejects.toThrow("was moved or replaced");
  removeLog();
  await expect(place(4n)).rejects.toThrow("is empty");
});

test.each([
  ["was moved", (path: string) => renameSync(path, `${path}.gone`)],
  ["was emptied", (path: string) => truncateSync(path)],
])("the log of a database that %s is kept, and nothing is created beside it", async (_what, take) => {
  const { path, store } = open();
  await store.accounts.create(ACCOUNT);
  const copy = newPath();
  cpSync(path, copy);
  cpSync(`${path}-wal`, `${copy}-wal`);
  take(copy);
  const before = readFileSync(`${copy}-wal`);
  for (const existing of [false, true])
    expect(() => createSqliteStore({ path: copy, existing })).toThrow(
      /missing or empty|There is no database/,
    );
  await expect(backUpSqlite({ path: copy, to: newPath() })).rejects.toThrow(/missing or empty/);
  expect(readFileSync(`${copy}-wal`)).toEqual(before);
});

test("a store whose log was deleted works again once nobody else has the log open", async () => {
  const path = newPath();
  const [store, other] = [createSqliteStore({ path }), createSqliteStore({ path })];
  const place = (id: bigint) => store.orders.place([{ record: { id }, status: "pending" }]);
  await place(1n);
  await other.orders.find(1n);
  rmSync(`${path}-wal`);
  await expect(place(2n)).rejects.toThrow(`The write-ahead log of ${path} was deleted.`);
  for (const _ of [1, 2])
    await expect(place(2n)).rejects.toThrow(
      `The write-ahead log of ${path} was deleted while another process uses it. Stop that process.`,
    );
  await other.close();
  expect(await place(2n)).toEqual(["placed"]);
  expect((await store.orders.find(1n))?.status).toBe("pending");
  await store.close();
});

test("a store whose folder was moved says so, and works once it is back", async () => {
  const folder = join(directory, "moving");
  const store = createSqliteStore({ path: join(folder, "orders.db") });
  const place = () => store.orders.place([{ record: { id: 1n }, status: "pending" }]);
  await place();
  renameSync(folder, `${folder}.moved`);
  await expect(place()).rejects.toThrow("was moved or replaced");
  await expect(place()).rejects.toThrow("was deleted or moved. Put it back.");
  renameSync(`${folder}.moved`, folder);
  expect(await place()).toEqual(["unchanged"]);
  await store.close();
});

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
    const link = join(directory, "linked.db");
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
    // A worker thread has no directory of its own.
    const cwd = vi.spyOn(process, "cwd").mockReturnValue(directory);
    onTestFinished(() => cwd.mockRestore());
    const path = "file:named.db?mode=memory";
    const store = createSqliteStore({ path });
    await store.orders.place([{ record: { id: 1n }, status: "pending" }]);
    for (const suffix of ["", "-wal", "-shm"])
      expect(modeOf(join(directory, path + suffix)), suffix).toBe(0o600);
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
