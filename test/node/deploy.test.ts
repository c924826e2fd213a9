import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { baseEnvironment, useCommandLine } from "../support/command-line.ts";
import { skipsBecause } from "../support/skip-reason.ts";

const deploy = new URL("../../lib/node/deploy/", import.meta.url);
const unit = readFileSync(new URL("store-orders.service", deploy), "utf8");
const backupUnit = readFileSync(new URL("store-orders-backup.service", deploy), "utf8");

function settings(name: string, of = unit): readonly string[] {
  return [...of.matchAll(new RegExp(`^${name}=(.*)$`, "gm"))].map(([, value = ""]) => value);
}

const cli = useCommandLine();

/** The command of the unit and its environment, with free ports and a database in a folder of its own. */
function unitCommand(...more: readonly string[]) {
  const [, ...args] = (settings("ExecStart")[0] ?? "").replace("9464", "0").split(" ");
  const assignments = settings("Environment").flatMap((line) => line.match(/"[^"]*"|\S+/g) ?? []);
  const env = Object.fromEntries(
    assignments.map((assignment) => {
      const [, name = "", value = ""] = /^"?(\w+)=(.*?)"?$/.exec(assignment) ?? [];
      return [name, value.replace("/var/lib/store-orders", cli.directory)];
    }),
  );
  expect(env["STORE_ORDERS_DATABASE"]).toBe(join(cli.directory, "store-orders.db"));
  return { args: [...args, "--port", "0", ...more], env };
}

test("the systemd unit starts a service that prints nothing but lines of JSON", async () => {
  const { args, env } = unitCommand();
  await cli.run(["accounts", "create", "acme", "--plan", "pro"], { env });
  const child = cli.spawn(args, { env });
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (part) => lines.push(...`${part}`.trimEnd().split("\n")));
  child.stdout.once("data", () => child.kill("SIGTERM"));
  const [status] = await once(child, "close");
  expect(status).toBe(0);
  const entries = lines.map((line) => JSON.parse(line) as object);
  expect(entries).toContainEqual(expect.objectContaining({ url: expect.stringMatching(/^http/) }));
  expect(entries).toContainEqual(expect.objectContaining({ level: "info", message: "Stopped." }));
});

test("the systemd unit tries to start without end, except after a wrong option", async () => {
  expect(settings("StartLimitIntervalSec")).toEqual(["0"]);
  expect(settings("Restart")).toEqual(["on-failure"]);
  expect(settings("RestartSec")).toEqual(["2"]);
  const { args, env } = unitCommand("--ban-after", "none");
  const { status, stderr } = await cli.run(args, { env });
  expect(settings("RestartPreventExitStatus")).toEqual([`${status}`]);
  expect(JSON.parse(stderr.trimEnd().split("\n").at(-1) ?? "")).toMatchObject({ code: "usage_error" });
});

test("the systemd unit waits for the file system of the database, and the journal keeps a line for each request", () => {
  expect([settings("LogRateLimitIntervalSec"), settings("LogRateLimitBurst")]).toEqual([["1s"], ["100000"]]);
  expect(settings("RequiresMountsFor")).toEqual([`/var/lib/${settings("StateDirectory")[0]}`]);
});

test.skipIf(
  skipsBecause("the unit of the backup", process.platform === "linux" ? undefined : "it is for Linux"),
)(
  "the backup unit keeps rehearsed copies of two weeks, deletes what a kill left, and tells their age; a bad copy deletes nothing and tells nothing",
  async () => {
    const inFolder = (...names: readonly string[]) => join(cli.directory, ...names);
    for (const name of ["backups", "metrics", "bin"]) mkdirSync(inFolder(name));
    const bin = fileURLToPath(new URL("../../lib/cli/bin.ts", import.meta.url));
    const command = `#!/bin/sh\nexec "${process.execPath}" --conditions development "${bin}" "$@"\n`;
    writeFileSync(inFolder("bin", "store-orders"), command, { mode: 0o755 });
    const [database] = settings("Environment", backupUnit)[0]?.split("=").slice(1) ?? [];
    expect(database).toBe("/var/lib/store-orders/store-orders.db");
    const { PATH, ...rest } = baseEnvironment();
    const [path, metrics] = [inFolder("shop.db"), inFolder("metrics")];
    const env = {
      ...rest,
      PATH: `${inFolder("bin")}:${PATH}`,
      STORE_ORDERS_DATABASE: path,
      CACHE_DIRECTORY: metrics,
    };
    const days = (count: number) => Date.now() / 1_000 - count * 86_400;
    for (const age of [13, 16]) {
      writeFileSync(inFolder("backups", `${age}.db`), "copy");
      utimesSync(inFolder("backups", `${age}.db`), days(age), days(age));
    }
    const left = ["0.db", "0.db.3e94.partial", "0.db.3e94.partial-journal", "0.db.rehearsal-x/restored.db"];
    mkdirSync(inFolder("backups", "0.db.rehearsal-x"));
    for (const name of left) writeFileSync(inFolder("backups", name), name === "0.db" ? "" : "copy");
    for (const name of [...left, "0.db.rehearsal-x"]) utimesSync(inFolder("backups", name), days(2), days(2));
    const recent = ["1.db", "1.db.3e94.partial"];
    for (const name of recent) writeFileSync(inFolder("backups", name), "");
    /** Runs the commands as systemd does: one after another, with its escapes resolved, until one fails. */
    const runUnit = async () => {
      for (const line of [...settings("ExecStart", backupUnit), ...settings("ExecStartPost", backupUnit)]) {
        const text = line.replaceAll("%%", "%").replaceAll("$$", "$");
        await promisify(execFile)("/bin/sh", ["-c", `umask 077; ${text}`], { cwd: cli.directory, env });
      }
    };
    await cli.run(["orders", "place", "--id", "7", "--database", path]);
    const db = new DatabaseSync(path);
    db.exec("UPDATE orders SET status = 'lost'");
    await expect(runUnit()).rejects.toMatchObject({ stdout: expect.stringContaining("'lost'") });
    expect(readdirSync(metrics)).toEqual([]);
    const [bad = "", ...others] = readdirSync(inFolder("backups")).filter((name) => name.startsWith("20"));
    expect([bad, others]).toEqual([expect.stringMatching(/^\d{4}-\d\d-\d\dT\d{6}Z\.db$/), []]);
    expect(readdirSync(inFolder("backups"))).toHaveLength(9);
    // The name has the second.
    rmSync(inFolder("backups", bad));

    db.exec("UPDATE orders SET status = 'pending'");
    db.close();
    await runUnit();
    expect(readdirSync(inFolder("backups"))).toEqual([...recent, "13.db", expect.stringMatching(/Z\.db$/)]);
    const [, at] =
      /^store_orders_backup_timestamp_seconds (\d+)\n$/.exec(
        readFileSync(join(metrics, "backup.prom"), "utf8"),
      ) ?? [];
    expect(statSync(join(metrics, "backup.prom")).mode & 0o777).toBe(0o644);
    expect(Number(at)).toBeGreaterThan(days(0) - 60);
  },
);
