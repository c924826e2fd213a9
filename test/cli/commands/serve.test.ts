import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";
import { runProgram } from "../../../lib/cli/program.ts";
import {
  baseEnvironment,
  createCommandLine,
  waitForExit,
  waitForOutput,
} from "../../support/command-line.ts";

const cli = createCommandLine();
afterAll(() => cli[Symbol.dispose]());
const root = fileURLToPath(new URL("../../..", import.meta.url));

const START_MESSAGE = new RegExp(
  [
    "^Store Orders   (http://127\\.0\\.0\\.1:\\d+)/v1",
    "docs           \\1/docs",
    "database       demo\\.db",
    "key            (so_test_demo_[0-9A-Za-z]{38})            shown once",
    "try            curl --compressed -H 'Authorization: Bearer \\2' \\1/v1/store/orders\n$",
  ].join("\n"),
);

test("serve --demo adds demo data and prints how to call the API; a second start prints no key and changes nothing", async () => {
  const serve = ["serve", "--demo", "--port", "0", "--database", "demo.db"];
  const first = cli.spawn(serve);
  const message = await waitForOutput(first, /^try.*\n/m);
  const [, url, key = ""] = START_MESSAGE.exec(message) ?? [];
  expect(message).toMatch(START_MESSAGE);
  const log = waitForExit(first);
  const headers = { authorization: `Bearer ${key}` };
  const list = await fetch(`${url}/v1/store/orders`, { headers });
  const orders = (await list.json()) as { id: number }[];
  expect(orders.map(({ id }) => id)).toEqual([1001, 1002, 1003, 1004, 1005]);
  const cancel = (id: number) => fetch(`${url}/v1/store/orders/${id}`, { method: "DELETE", headers });
  expect((await Promise.all([1001, 1003, 1005, 7].map(cancel))).map(({ status }) => status)).toEqual([
    204, 409, 409, 404,
  ]);
  first.kill("SIGTERM");
  const { status, stderr } = await log;
  expect(status).toBe(0);
  const lines = stderr
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(lines).toHaveLength(7);
  expect(lines[0]).toMatchObject({ operation: "listOrders", status: 200, accountId: "demo", plan: "free" });
  expect(lines[0]).toMatchObject({ level: "info", method: "GET", path: "/v1/store/orders" });
  expect(stderr).not.toContain("127.0.0.1");
  expect(lines.slice(5)).toMatchObject([
    { level: "info", message: "Stopping because of SIGTERM; requests in flight are completed." },
    { level: "info", message: "Stopped." },
  ]);
  expect(stderr).not.toContain(key);

  const before = await cli.run(["orders", "export", "--database", "demo.db"]);
  const second = cli.spawn(serve);
  const again = await waitForOutput(second, /^database.*\n/m);
  expect(again).toMatch(/^Store Orders {3}\S+\ndocs {11}\S+\ndatabase {7}demo\.db\n$/);
  second.kill("SIGINT");
  const rest = await waitForExit(second);
  expect(rest).toMatchObject({ status: 0, stdout: "" });
  const [notice = ""] = rest.stderr.split("\n");
  const [, printed = ""] =
    /^The database has data already.*run:\n {2}(.*)$/.exec(JSON.parse(notice).message) ?? [];
  expect(printed).toBe("npm run --silent cli -- keys issue --account demo --database demo.db");
  expect(rest.stderr).not.toContain("so_test_");
  expect(await cli.run(["orders", "export", "--database", "demo.db"])).toEqual(before);
  expect(await cli.json("keys", "list", "--account", "demo", "--database", "demo.db")).toHaveLength(1);
});

test("serve without --demo adds no data, and its flags take precedence over HOST and PORT", async () => {
  const occupied = createServer();
  await once(occupied.listen(0, "127.0.0.1"), "listening");
  const { port } = occupied.address() as AddressInfo;
  const env = { HOST: "127.0.0.1", PORT: `${port}`, STORE_ORDERS_DATABASE: "plain.db" };

  const failed = await cli.run(["serve", "--demo"], { env });
  expect(failed).toMatchObject({ status: 2, stdout: "" });
  expect(failed.stderr).toBe(
    `error: 127.0.0.1:${port} is already in use. Stop the process that uses it, or choose another port with --port or PORT.\n`,
  );
  occupied.close();

  const server = cli.spawn(["serve", "--port", "0", "--host", "localhost", "--json"], { env });
  const result = JSON.parse(await waitForOutput(server, /\n/));
  expect(result).toEqual({
    url: expect.stringMatching(/^http:\/\/localhost:\d+\/v1$/),
    docs: expect.stringMatching(/^http:\/\/localhost:\d+\/docs$/),
    database: "plain.db",
    key: null,
  });
  expect(result.url).not.toContain(`:${port}/`);
  server.kill("SIGTERM");
  expect((await waitForExit(server)).status).toBe(0);
  expect(await cli.json("accounts", "list", "--database", "plain.db")).toEqual([]);
});

test("serve --demo does not change a database that has orders but no account", async () => {
  const store = ["--database", "orders.db"];
  await cli.json("orders", "place", "--id", "1", ...store);
  const server = cli.spawn(["serve", "--demo", "--port", "0", ...store]);
  expect(await waitForOutput(server, /^database.*\n/m)).not.toContain("key");
  server.kill("SIGTERM");
  expect((await waitForExit(server)).status).toBe(0);
  expect(await cli.json("accounts", "list", ...store)).toEqual([]);
  expect((await cli.run(["orders", "export", ...store])).stdout).toBe('{"id":1,"status":"pending"}\n');
});

test("scripts check the Node version first: an older Node exits with 1 and a one-line message", async () => {
  const { scripts } = (await import("../../../package.json", { with: { type: "json" } })).default;
  const fakeVersion =
    "data:text/javascript,Object.defineProperty(process,'versions',{value:{node:'20.20.2'}})";
  for (const name of ["start", "cli"] as const) {
    const [command, ...args] = scripts[name].split(" ");
    expect(command).toBe("node");
    const options = { cwd: root, env: baseEnvironment() };
    const outdated = await waitForExit(spawn(process.execPath, ["--import", fakeVersion, ...args], options));
    expect(outdated).toMatchObject({ status: 1, stdout: "" });
    expect(outdated.stderr).toMatch(/^store-orders needs Node 24 or newer; .*\n$/);
  }
});

test("on a terminal, serve --demo also prints variables to paste and three commands to try next", async () => {
  const database = join(cli.directory, "terminal.db");
  const stdout = Object.assign(new PassThrough(), { isTTY: true });
  const [stdin, stderr] = [new PassThrough(), new PassThrough()];
  const stop = Promise.withResolvers<string>();
  const argv = ["serve", "--demo", "--port", "0", "--database", database];
  const running = runProgram({ argv, env: {}, stdin, stdout, stderr, waitForStop: () => stop.promise });
  const [output] = (await once(stdout, "data")) as [Buffer];
  const [block = "", nextSteps = ""] = output.toString().split(/(?<=\/store\/orders\n)\n/);
  expect(block).toMatch(/^Store Orders .*\ndocs .*\ndatabase .*\nkey .*\ntry .*\n$/);
  const [, key = ""] = /^key +(\S+)/m.exec(block) ?? [];
  const [, url = ""] = /^Store Orders +(\S+)/.exec(block) ?? [];
  expect(nextSteps).toContain(`\nexport API=${url} KEY=${key}\n`);

  const [variables = "", ...commands] = nextSteps
    .split("\n")
    .filter((line) => /^(?:export|curl|npm)/.test(line));
  expect(commands).toHaveLength(3);
  const run = (command: string) =>
    waitForExit(spawn("bash", ["-c", `${variables}\n${command}`], { cwd: root, env: baseEnvironment() }));
  const [list, cancel, show] = [
    await run(commands[0] ?? ""),
    await run(commands[1] ?? ""),
    await run(commands[2] ?? ""),
  ];
  expect(list.stdout).toMatch(/^HTTP\/1\.1 200 /);
  expect(cancel.stdout).toMatch(/^HTTP\/1\.1 204 /);
  expect(show).toMatchObject({ status: 0, stdout: expect.stringMatching(/^account +demo\n/) });
  stop.resolve("SIGTERM");
  expect(await running).toBe(0);
});
