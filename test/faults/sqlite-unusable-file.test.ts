import { spawn, spawnSync } from "node:child_process";
import { on } from "node:events";
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { StoreUnavailableError } from "../../lib/core/errors.ts";
import { createSqliteStore } from "../../lib/stores/sqlite/index.ts";
import { skipsBecause } from "../support/skip-reason.ts";
import { fillStore } from "./service.ts";

const folder = mkdtempSync(join(tmpdir(), "store-orders-"));
afterAll(() => rmSync(folder, { recursive: true }));
let databases = 0;
const newPath = () => join(folder, `${databases++}.db`);

test("a file that is truncated or lacks a table makes the store unavailable and is left unchanged", async () => {
  const [truncated, withoutTable] = [newPath(), newPath()];
  await fillStore({ kind: "sqlite", path: truncated }, 2_000);
  truncateSync(truncated, 3 * 4096);
  await fillStore({ kind: "sqlite", path: withoutTable }, 1);
  const db = new DatabaseSync(withoutTable);
  db.exec("DROP TABLE orders; PRAGMA journal_mode = DELETE; VACUUM; PRAGMA journal_mode = WAL");
  db.close();
  for (const path of [truncated, withoutTable]) {
    const before = readFileSync(path);
    expect(() => createSqliteStore({ path })).toThrow(StoreUnavailableError);
    expect(readFileSync(path).equals(before)).toBe(true);
  }
});

const otherUser = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
const bin = fileURLToPath(new URL("../../lib/cli/bin.ts", import.meta.url));
const run = (args: readonly string[]) =>
  spawnSync(process.execPath, [bin, ...args], {
    ...otherUser,
    cwd: "/",
    encoding: "utf8",
    env: { HOME: "/" },
  });
const reason = run(["--help"]).status === 0 ? undefined : "no other user can read the sources here";

test.skipIf(skipsBecause("a database without write permission", reason))(
  "a file without write permission for it or its directory makes the store unavailable",
  async () => {
    const path = newPath();
    await fillStore({ kind: "sqlite", path }, 1);
    const before = readFileSync(path);
    chmodSync(folder, 0o755);
    for (const mode of [0o444, 0o666, 0o000]) {
      chmodSync(path, mode);
      if (otherUser.uid === undefined) chmodSync(folder, 0o555);
      const { status, stderr } = run(["serve", "--port", "0", "--database", path]);
      chmodSync(folder, 0o755);
      expect({ mode, status }).toEqual({ mode, status: 3 });
      expect(stderr).not.toMatch(/^\s+at /m);
    }
    chmodSync(path, 0o600);
    expect(readFileSync(path).equals(before)).toBe(true);
  },
);

test.skipIf(skipsBecause("a database on a read-only volume", reason))(
  "a database is read where nothing can be written, unless changes are left in its log",
  async () => {
    const volume = mkdtempSync(join(tmpdir(), "store-orders-volume-"));
    onTestFinished(() => rmSync(volume, { recursive: true }));
    const path = join(volume, "orders.db");
    const copy = join(folder, "copy.db");
    await fillStore({ kind: "sqlite", path }, 3);
    const database = ["--database", path];
    const commands = [
      ["orders", "export", ...database],
      ["database", "check", ...database],
      ["database", "backup", copy, ...database],
      ["database", "rehearse", path],
    ];
    chmodSync(folder, 0o777);
    chmodSync(path, 0o444);
    chmodSync(volume, 0o555);
    for (const command of commands) {
      const { status, stdout, stderr } = run(command);
      expect({ command, status, stderr: stderr.replace(/^Warning:.*/gm, "").trim() }).toMatchObject({
        status: 0,
      });
      if (command.includes("export")) expect(stdout.match(/"id":/g)).toHaveLength(3);
    }
    const copied = new DatabaseSync(copy, { readOnly: true });
    expect(copied.prepare("SELECT count(*) AS orders FROM orders").get()).toEqual({ orders: 3 });
    copied.close();
    expect(readdirSync(volume)).toEqual(["orders.db"]);
    expect(run(["orders", "cancel", "1", ...database]).status).toBe(3);

    chmodSync(volume, 0o755);
    writeFileSync(`${path}-wal`, "x");
    chmodSync(volume, 0o555);
    for (const command of commands.slice(0, 2)) {
      const { status, stderr } = run(command);
      expect(status).toBe(3);
      expect(stderr).toContain("Copy both files to a folder that can be written.");
    }
    chmodSync(volume, 0o755);
  },
);

const READER = `
  const { createSqliteStore } = await import(${JSON.stringify(new URL("../../lib/stores/sqlite/index.ts", import.meta.url).href)});
  const { orders } = createSqliteStore({ path: process.argv[1], readOnly: true });
  process.stdin.on("data", async () => {
    const read = orders.countByStatus().then(({ pending }) => pending + " pending", ({ message }) => message);
    process.stdout.write((await read) + "\\n");
  });
  process.stdout.write("open\\n");`;

test.skipIf(skipsBecause("a reader of a database on a read-only volume", reason))(
  "a reader of a database where it can write nothing sees what others write later, or an error",
  async () => {
    const path = newPath();
    await fillStore({ kind: "sqlite", path }, 3);
    chmodSync(folder, 0o755);
    chmodSync(path, 0o444);
    const fillAnother = async () => {
      const another = newPath();
      await fillStore({ kind: "sqlite", path: another }, 5);
      chmodSync(another, 0o444);
      return another;
    };
    const reader = spawn(process.execPath, ["--input-type=module", "--eval", READER, path], otherUser);
    onTestFinished(() => void reader.kill());
    const lines = on(reader.stdout.setEncoding("utf8"), "data");
    const read = async () => {
      reader.stdin.write("read\n");
      return `${(await lines.next()).value}`;
    };
    expect(`${(await lines.next()).value}`).toBe("open\n");
    expect(await read()).toBe("3 pending\n");
    const store = createSqliteStore({ path });
    await store.orders.apply(1n, "cancel", 0);
    expect(await read()).not.toBe("3 pending\n");
    await store.close();
    // A store that writes takes away the access of others.
    chmodSync(path, 0o444);
    expect(await read()).toBe("2 pending\n");
    renameSync(await fillAnother(), path);
    expect(await read()).toBe("5 pending\n");
    writeFileSync(`${path}-wal`, "x");
    expect(await read()).toContain("Copy both files");
    rmSync(`${path}-wal`);
    expect(await read()).toBe("5 pending\n");
  },
);
