import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, expect, test } from "vitest";
import { createCommandLine, waitForExit, waitForOutput } from "../../support/command-line.ts";
import { noPosix, skipsBecause } from "../../support/skip-reason.ts";

const cli = createCommandLine();
afterAll(() => cli[Symbol.dispose]());

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

test("console --json prints the link as JSON", async () => {
  await cli.run(["accounts", "create", "acme", "--plan", "pro", "--database", "json.db"]);
  const child = cli.spawn(["console", "--database", "json.db", "--json"]);
  const { link, database } = JSON.parse(await waitForOutput(child, /\n/));
  expect(link).toMatch(/^http:\/\/127\.0\.0\.1:\d+\//);
  expect(database).toBe("json.db");
  child.kill("SIGKILL");
});

test("a missing database and a port that is in use are usage errors that say what to do", async () => {
  const missing = await cli.run(["console", "--database", "missing.db"]);
  expect(missing.status).toBe(2);
  expect(missing.stderr).toContain("There is no database at missing.db.");

  await cli.run(["accounts", "create", "acme", "--plan", "pro", "--database", "port.db"]);
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  const { port } = other.address() as AddressInfo;
  const used = await cli.run(["console", "--database", "port.db", "--port", `${port}`]);
  other.close();
  expect(used.status).toBe(2);
  expect(used.stderr).toContain(`127.0.0.1:${port} is already in use.`);
  expect(used.stderr).toContain("--port");
});

test("console has no option for another address", async () => {
  const { status, stderr } = await cli.run(["console", "--host", "0.0.0.0"]);
  expect(status).toBe(2);
  expect(stderr).toContain("unknown option '--host'");
});
