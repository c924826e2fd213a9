import { execFileSync } from "node:child_process";
import { copyFileSync, globSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { runProgram } from "../../../lib/cli/program.ts";
import { nextTurn } from "../../../lib/core/time.ts";
import { createSqliteStore } from "../../../lib/stores/sqlite/index.ts";
import { limitFiles, reasonToSkip } from "../../faults/sqlite/disk-limit.ts";
import { useCommandLine } from "../../support/command-line.ts";
import { noPosix, skipsBecause } from "../../support/skip-reason.ts";

const cli = useCommandLine();
const pathOf = (name: string) => join(cli.directory, name);

/** The identifiers of all orders in a database file. SQLite may return any int64, as bigint. */
function orderIdsIn(path: string): ReadonlySet<bigint> {
  const db = new DatabaseSync(path, { readBigInts: true });
  try {
    expect(db.prepare("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
    const rows = db.prepare("SELECT id FROM orders").all() as unknown as { id: bigint }[];
    return new Set(rows.map(({ id }) => id));
  } finally {
    db.close();
  }
}

test("a backup under write load is intact and has every order that was acknowledged before it began", async () => {
  const store = createSqliteStore({ path: pathOf("live.db") });
  let next = 0n;
  const placeBatch = async () => {
    const orders = Array.from({ length: 50 }, () => ({
      record: { id: next++, petId: 7n, quantity: 1 },
      status: "pending" as const,
    }));
    await store.orders.place(orders);
  };
  for (let batch = 0; batch < 400; batch++) await placeBatch();

  let stopped = false;
  let acknowledged = next;
  const load = (async () => {
    while (!stopped) {
      await placeBatch();
      acknowledged = next;
    }
  })();
  const before = acknowledged;
  const result = await cli.run(["database", "backup", "copy.db", "--database", "live.db", "--json"]);
  stopped = true;
  await load;
  await store.close();

  expect(result).toMatchObject({ status: 0, stderr: "" });
  const bytes = statSync(pathOf("copy.db")).size;
  expect(JSON.parse(result.stdout)).toEqual({ database: "live.db", backup: "copy.db", bytes });
  expect(acknowledged, "orders were placed meanwhile").toBeGreaterThan(before);
  expect(globSync("copy.db*", { cwd: cli.directory })).toEqual(["copy.db"]);
  if (!skipsBecause("the mode of a backup", noPosix))
    expect(statSync(pathOf("copy.db")).mode & 0o777).toBe(0o600);

  const copied = orderIdsIn(pathOf("copy.db"));
  for (let id = 0n; id < before; id++) if (!copied.has(id)) expect.fail(`order ${id} is missing`);
  // Batches are atomic, so a consistent copy has only whole ones, without gaps.
  expect(copied.size % 50).toBe(0);
  expect(copied.has(BigInt(copied.size) - 1n)).toBe(true);
  const list = await cli.json<{ id: number }[]>("orders", "list", "--limit", "1", "--database", "copy.db");
  expect(list).toMatchObject([{ id: 0 }]);
});

test("a backup leaves alone every other file, also one that is named like an unfinished backup", async () => {
  const [database, other] = ["shop.partial", "shop2.partial"];
  await createSqliteStore({ path: pathOf(database) }).close();
  writeFileSync(pathOf(other), "important");
  const [own, named] = await Promise.all(
    ["shop", "shop2"].map((file) => cli.run(["database", "backup", file, "--database", database])),
  );
  expect([own?.status, named?.status]).toEqual([0, 0]);
  expect(readFileSync(pathOf(other), "utf8")).toBe("important");
  for (const file of [database, "shop", "shop2"]) expect(orderIdsIn(pathOf(file)).size, file).toBe(0);
  expect(globSync("shop*", { cwd: cli.directory }).toSorted()).toEqual(["shop", database, "shop2", other]);
});

test("a backup does not overwrite a file, and needs a folder", async () => {
  await createSqliteStore({ path: pathOf("plain.db") }).close();
  writeFileSync(pathOf("taken.db"), "important");
  const backup = (file: string) => cli.run(["database", "backup", file, "--database", "plain.db"]);
  expect(await backup("taken.db")).toEqual({
    status: 2,
    stdout: "",
    stderr: `error: taken.db: The file already exists, and was not changed. Delete it, or name another file.\n`,
  });
  expect(readFileSync(pathOf("taken.db"), "utf8")).toBe("important");

  const missing = await backup("no/such/folder.db");
  expect(missing).toMatchObject({ status: 2, stdout: "" });
  expect(missing.stderr).toBe("error: no/such/folder.db: The folder of the file does not exist (ENOENT).\n");
});

test.skipIf(skipsBecause("commands on a full disk", reasonToSkip()))(
  "on a full disk, a database that nobody has open is read",
  async () => {
    await createSqliteStore({ path: pathOf("full.db") }).close();
    limitFiles(process.pid, 16_384);
    try {
      for (const command of ["orders export", "database check"])
        expect(await cli.run([...command.split(" "), "--database", "full.db"])).toMatchObject({ status: 0 });
      const { status, stderr } = await cli.run(["database", "rehearse", "full.db"]);
      const message = expect.stringMatching(
        /^error: \S+restored\.db: The file cannot be written \(EFBIG\)\.\n$/,
      );
      expect([status, stderr, globSync(pathOf("full.db.*"))]).toEqual([2, message, []]);
    } finally {
      limitFiles(process.pid, "unlimited");
    }
  },
);

test("a backup of another database, and a migration of one, exit with 2 and name the alternative", async () => {
  const run = async (...args: string[]) => cli.run(["database", ...args]);
  const results = await Promise.all([
    run("backup", "none.db", "--dynamodb", "dev", "--json"),
    run("backup", "none.db", "--postgres", "postgres://localhost/db"),
    run("migrate"),
  ]);
  expect(results.map(({ status }) => status)).toEqual([2, 2, 2]);
  const [dynamodb, postgres, sqlite] = results.map(({ stderr }) => stderr);
  expect(dynamodb).toMatch(/"--dynamodb: This backs up SQLite only\. .* use point-in-time recovery\."/);
  expect(postgres).toMatch(/^error: --postgres: This backs up SQLite only\. .* pg_dump or pg_basebackup\.$/m);
  expect(sqlite).toMatch(/^error: --postgres: .* A SQLite database is migrated when it is opened\.$/m);
});

test("a check beside a running store says what is wrong and how to repair it, and a rehearsal checks a backup", async () => {
  const store = createSqliteStore({ path: pathOf("checked.db") });
  await store.orders.place([{ record: { id: 5n }, status: "pending" }], Date.UTC(2026, 10, 20, 12));
  const newestChange = "2026-11-20T12:00:00.000Z";
  const check = (...args: string[]) => cli.run(["database", "check", "--database", "checked.db", ...args]);
  expect(JSON.parse((await check("--json")).stdout)).toEqual({
    ...{ database: "checked.db", orders: 1, accounts: 0, findings: 0, newestChange, found: [] },
  });
  expect((await cli.run(["database", "backup", "good.db", "--database", "checked.db"])).status).toBe(0);
  const good = await cli.run(["database", "rehearse", "good.db", "--json"]);
  expect(good).toMatchObject({ status: 0, stderr: "" });
  expect(JSON.parse(good.stdout)).toMatchObject({ backup: "good.db", orders: 1, findings: 0, newestChange });

  const db = new DatabaseSync(pathOf("checked.db"));
  db.exec("UPDATE orders SET status = 'lost\n'");
  db.close();
  const { status, stdout, stderr } = await check();
  expect({ status, stderr }).toEqual({ status: 1, stderr: "" });
  expect(stdout).toMatch(/^order 5: The status 'lost\\n'.*Correct the status in the database\.$/m);
  await cli.run(["database", "backup", "bad.db", "--database", "checked.db"]);
  expect((await cli.run(["database", "rehearse", "bad.db"])).status).toBe(1);
  expect(globSync("*good*", { cwd: cli.directory })).toEqual(["good.db"]);
  writeFileSync(pathOf("torn.db"), readFileSync(pathOf("good.db")).fill(0xff, 4_096, 8_192));
  expect((await cli.run(["database", "rehearse", "torn.db"])).status).toBe(1);
  expect(await cli.run(["database", "rehearse", "none.db"])).toEqual({
    ...{ status: 2, stdout: "" },
    stderr: "error: none.db: There is no database at none.db. Check the path of the backup.\n",
  });
  mkdirSync(pathOf("folder.db"));
  if (!skipsBecause("the rehearsal of a FIFO", noPosix)) execFileSync("mkfifo", [pathOf("fifo.db")]);
  for (const name of globSync("{folder,fifo}.db", { cwd: cli.directory }))
    for (const command of [
      "database rehearse",
      "database check --database",
      "accounts create acme --plan free --database",
    ])
      expect(await cli.run([...command.split(" "), name])).toMatchObject({
        ...{ status: 2, stdout: "", stderr: expect.stringContaining(`: ${name} is not a file.`) },
      });
  for (const bytes of [0, 3_000, 20_000]) {
    writeFileSync(pathOf("cut.db"), readFileSync(pathOf("good.db")).subarray(0, bytes));
    const cut = await cli.run(["database", "rehearse", "cut.db"]);
    expect(cut).toMatchObject({ status: 1, stdout: "" });
    expect(cut.stderr).toMatch(/^error: cut\.db: The (file is damaged: .*|database is empty\..*)\n$/);
  }
  await store.close();
});

test("a rehearsal of a copy whose changes are in a log beside it is refused", async () => {
  const store = createSqliteStore({ path: pathOf("logged.db") });
  await store.orders.place([{ record: { id: 5n }, status: "pending" }]);
  for (const suffix of ["", "-wal"])
    copyFileSync(pathOf(`logged.db${suffix}`), pathOf(`snapshot.db${suffix}`));
  await store.close();
  const refused = await cli.run(["database", "rehearse", "snapshot.db"]);
  expect(refused).toMatchObject({ status: 2, stdout: "" });
  expect(refused.stderr).toContain("Write both into one file with 'database backup'.");
  await cli.run(["database", "backup", "whole.db", "--database", "snapshot.db"]);
  expect((await cli.run(["database", "rehearse", "whole.db"])).stdout).toMatch(/^orders +1$/m);
});

test.each<[string, (file: string) => string[], () => Promise<void>]>([
  ["backup", (file) => ["backup", `${file}.copy`, "--database", file], async () => {}],
  ["rehearsal, while it copies,", (file) => ["rehearse", file], async () => {}],
  [
    "rehearsal, while it checks,",
    (file) => ["rehearse", file],
    async () => {
      const isRead = () => globSync(pathOf("stopped.db.rehearsal-*/restored.db-wal")).length > 0;
      while (!isRead()) await nextTurn();
    },
  ],
])("a %s that a signal stops leaves no file", async (_name, argsFor, begin) => {
  const file = pathOf("stopped.db");
  const store = createSqliteStore({ path: file });
  const orders = Array.from({ length: 20_000 }, (_, id) => ({ record: { id: BigInt(id) } }));
  await store.orders.place(orders.map((order) => ({ ...order, status: "pending" as const })));
  await store.close();
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const status = await runProgram({
    ...{ argv: ["database", ...argsFor(file), "--json"], env: {} },
    ...{ stdin: Readable.from([]), stdout, stderr, waitForStop: () => begin().then(() => "SIGTERM") },
  });
  const left = globSync("stopped.db?*", { cwd: cli.directory });
  stdout.end();
  stderr.end();
  expect([status, await text(stdout)]).toEqual([1, ""]);
  expect(JSON.parse(await text(stderr))).toEqual({
    code: "stopped",
    message: "Stopped because of SIGTERM; the copy was removed.",
  });
  // Reading a database leaves the index of its log.
  expect(left.filter((name) => !/^stopped\.db-(wal|shm)$/.test(name))).toEqual([]);
});

test.skipIf(skipsBecause("a line feed in a name", noPosix))("no file name forges output", async () => {
  const file = "a\u009b\u202e\nb.db";
  const { stderr } = await cli.run(["orders", "place", "--id", "1", "--database", file]);
  expect(stderr).toBe(
    "Warning: There was no store at a\\u009b\\u202e\\nb.db, so an empty one was created.\n",
  );
  const { stdout } = await cli.run(["database", "check", "--json", "--database", file]);
  expect(stdout).toMatch(/^[\x20-\x7e]+\n$/);
  expect(JSON.parse(stdout).database).toBe(file);
});
