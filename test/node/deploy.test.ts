import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createCommandLine } from "../support/command-line.ts";

const unit = readFileSync(new URL("../../lib/node/deploy/store-orders.service", import.meta.url), "utf8");

/** The values of a setting of the unit. */
function settings(name: string): readonly string[] {
  return [...unit.matchAll(new RegExp(`^${name}=(.*)$`, "gm"))].map(([, value = ""]) => value);
}

/** Runs the command of the unit in its environment, with free ports and a database in a folder of its own. */
async function runUnit(...more: readonly string[]) {
  using cli = createCommandLine();
  const [, ...args] = (settings("ExecStart")[0] ?? "").replace("9464", "0").split(" ");
  const assignments = settings("Environment").flatMap((line) => line.match(/"[^"]*"|\S+/g) ?? []);
  const env = Object.fromEntries(
    assignments.map((assignment) => {
      const [, name = "", value = ""] = /^"?(\w+)=(.*?)"?$/.exec(assignment) ?? [];
      return [name, value.replace("/var/lib/store-orders", cli.directory)];
    }),
  );
  expect(env["STORE_ORDERS_DATABASE"]).toBe(join(cli.directory, "store-orders.db"));
  const child = cli.spawn([...args, "--port", "0", ...more], { env });
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (part) => lines.push(...`${part}`.trimEnd().split("\n")));
  child.stdout.once("data", () => child.kill("SIGTERM"));
  const [status] = await once(child, "close");
  return { status, lines };
}

test("the systemd unit starts a service that prints nothing but lines of JSON", async () => {
  const { status, lines } = await runUnit();
  expect(status).toBe(0);
  const entries = lines.map((line) => JSON.parse(line) as object);
  expect(entries).toContainEqual(expect.objectContaining({ url: expect.stringMatching(/^http/) }));
  expect(entries).toContainEqual(expect.objectContaining({ level: "info", message: "Stopped." }));
});

test("the systemd unit tries to start without end, except after a wrong option", async () => {
  expect(settings("StartLimitIntervalSec")).toEqual(["0"]);
  expect(settings("Restart")).toEqual(["on-failure"]);
  expect(settings("RestartSec")).toEqual(["2"]);
  const { status, lines } = await runUnit("--ban-after", "none");
  expect(settings("RestartPreventExitStatus")).toEqual([`${status}`]);
  expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({ code: "usage_error" });
});

test("the systemd unit waits for the file system of the database", () => {
  expect(settings("RequiresMountsFor")).toEqual([`/var/lib/${settings("StateDirectory")[0]}`]);
});
