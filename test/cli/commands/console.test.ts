import { statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type ConsoleDomainsFlags, readConsoleDomains } from "../../../lib/cli/commands/console.ts";
import { AUTHORITIES } from "../../../lib/domains/verification/caa.ts";
import { createSqliteStore } from "../../../lib/stores/sqlite/index.ts";
import { limitFiles, reasonToSkip } from "../../faults/sqlite/disk-limit.ts";
import { useCommandLine, waitForExit, waitForOutput } from "../../support/command-line.ts";
import { listenOn } from "../../support/free-port.ts";
import { noPosix, skipsBecause } from "../../support/skip-reason.ts";

const cli = useCommandLine();

test.skipIf(skipsBecause("the end of the console", noPosix))(
  "console prints a link to the loopback address, serves it, and ends with its session on Ctrl-C",
  async () => {
    await cli.run(["accounts", "create", "acme", "--plan", "pro", "--database", "orders.db"]);
    const child = cli.spawn(["console", "--database", "orders.db"]);
    const output = await waitForOutput(child, /Ctrl-C.*\n/);
    const [, link = "", token = ""] =
      /^Console {8}(http:\/\/127\.0\.0\.1:\d+\/[\w-]{16}\/start)#([\w-]{43})\n/.exec(output) ?? [];
    expect(output).toContain("database       orders.db\n");
    expect((await fetch(link)).status).toBe(200);
    const exit = waitForExit(child);
    child.kill("SIGINT");
    const { status, stderr } = await exit;
    expect(status).toBe(0);
    expect(stderr).toBe("The console has stopped, and its session has ended.\n");
    expect(stderr).not.toContain(token);
    await expect(fetch(link)).rejects.toThrow();
  },
);

test.skipIf(skipsBecause("the console on a full disk", reasonToSkip()))(
  "on a full disk, console says that nothing can be changed, and shows everything; serve prints no address",
  async () => {
    const path = join(cli.directory, "full.db");
    const store = createSqliteStore({ path });
    await store.orders.place([{ record: { id: 7n }, status: "pending" }]);
    limitFiles(process.pid, statSync(`${path}-wal`).size);
    try {
      const served = await cli.run(["serve", "--port", "0", "--database", path]);
      expect(served).toMatchObject({ status: 3, stdout: "" });
      const { message, stop } = await cli.open(["console", "--database", path], { pattern: /Ctrl-C/ });
      const [, link = ""] = /(http\S+)#/.exec(message) ?? [];
      expect((await fetch(link)).status).toBe(200);
      const problem = expect.stringMatching(/^No change can be made: .*(?:full|disk).*\n/);
      expect(await stop()).toMatchObject({ status: 0, stderr: problem });
    } finally {
      limitFiles(process.pid, "unlimited");
      await store.close();
    }
  },
);

test("console offers the plans of --plans, and --json prints its link as JSON", async () => {
  writeFileSync(join(cli.directory, "plans.yaml"), "starter: { perMinute: 30, perDay: 500 }");
  const store = ["--database", "plans.db", "--plans", "plans.yaml"];
  await cli.run(["accounts", "create", "acme", "--plan", "starter", ...store]);
  const { message, stop } = await cli.open(["console", "--json", ...store], { pattern: /\n/ });
  const { link, database } = JSON.parse(message);
  expect(database).toBe("plans.db");
  const [, base = "", token = ""] = /^(http:\/\/127\.0\.0\.1:\S+)\/start#(\S+)$/.exec(link) ?? [];
  const headers = { "content-type": "application/x-www-form-urlencoded", origin: new URL(base).origin };
  const started = await fetch(`${base}/session`, {
    method: "POST",
    headers: { ...headers, "sec-fetch-site": "same-origin" },
    body: new URLSearchParams({ token }),
    redirect: "manual",
  });
  const cookie = started.headers.get("set-cookie")?.split(";")[0] ?? "";
  const page = await (await fetch(`${base}/accounts/acme`, { headers: { cookie } })).text();
  expect(page).toMatch(/<option[^>]*value="starter"[^>]*selected|<option[^>]*selected[^>]*value="starter"/);
  expect(page).toContain("of 30");
  expect((await stop()).status).toBe(0);
});

test("a missing database is a usage error, and a port that is in use may pass; both say what to do", async () => {
  const missing = await cli.run(["console", "--database", "missing.db"]);
  expect(missing.status).toBe(2);
  expect(missing.stderr).toContain("There is no database at missing.db.");

  await cli.run(["accounts", "create", "acme", "--plan", "pro", "--database", "port.db"]);
  const other = createServer();
  const port = await listenOn(other);
  const used = await cli.run(["console", "--database", "port.db", "--port", `${port}`]);
  other.close();
  expect(used.status).toBe(3);
  expect(used.stderr).toContain(`127.0.0.1:${port} is already in use.`);
  expect(used.stderr).toContain("--port");
});

test("console has no option for another address", async () => {
  const { status, stderr } = await cli.run(["console", "--host", "0.0.0.0"]);
  expect(status).toBe(2);
  expect(stderr).toContain("unknown option '--host'");
});

const read = (flags: Partial<ConsoleDomainsFlags>, env = {}) =>
  readConsoleDomains({ authority: [AUTHORITIES.amazon], ...flags }, env);

describe("what the console's domains come from", () => {
  test("a file, with the plan of the project and the platform host in normal form", () => {
    const zone = ["www.sub.example.com=sub.example.com"];
    expect(read({ domains: "d.yaml", plan: "pro", target: "Platform.Example.net.", zone })).toMatchObject({
      ...{ path: "d.yaml", plan: "pro", target: "platform.example.net" },
      zones: new Map([["www.sub.example.com", "sub.example.com"]]),
    });
  });

  test("for one machine, its addresses instead of a platform host", () => {
    const flags = { domains: "d.yaml", address: ["203.0.113.7", "2001:db8::7"] };
    expect(read(flags)).toMatchObject({ target: flags.address });
    expect(() => read({ ...flags, target: "a.example.net" })).toThrow("Omit --target.");
  });

  test("without options, what 'serve' reads from the environment", () => {
    const env = { STORE_ORDERS_DOMAINS: "e.yaml", STORE_ORDERS_PLAN: "pro" };
    const options = read({}, env);
    expect(options).toMatchObject({ path: "e.yaml", plan: "pro" });
    expect(options).not.toHaveProperty("target");
    expect(read({})).toBeUndefined();
  });

  test.each<[Partial<ConsoleDomainsFlags>, string]>([
    [{ target: "a.example.com" }, "Give the domains file, too, with --domains."],
    [{ domains: "d.yaml", target: "https://a.example.com" }, "This is a URL."],
    [{ domains: "d.yaml", zone: ["a.example.com"] }, "a.example.com: Write HOST=VALUE"],
    [{ domains: "d.yaml", resolver: "dns.example.com" }, "is not the address of a DNS server"],
  ])("%j stops the console at its start", (flags, message) => {
    expect(() => read(flags)).toThrow(message);
  });
});
