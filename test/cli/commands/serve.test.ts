import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { hashKey } from "../../../lib/accounts/hash-key.ts";
import { runProgram } from "../../../lib/cli/program.ts";
import { createSqliteStore } from "../../../lib/stores/sqlite/index.ts";
import { SCHEMA_VERSION } from "../../../lib/stores/sqlite/schema.ts";
import manifest from "../../../package.json" with { type: "json" };
import {
  baseEnvironment,
  createCommandLine,
  useCommandLine,
  waitForExit,
  waitForOutput,
} from "../../support/command-line.ts";
import { freePort, listenOn } from "../../support/free-port.ts";
import { noPosix, skipsBecause } from "../../support/skip-reason.ts";

const cli = useCommandLine();
const processes = createCommandLine();
afterAll(() => processes[Symbol.dispose]());
const root = fileURLToPath(new URL("../../..", import.meta.url));

const { version } = manifest;
const SECRET = `whsec_${Buffer.alloc(32, "a").toString("base64")}`;

const START_MESSAGE = new RegExp(
  [
    "^Store Orders   (http://127\\.0\\.0\\.1:\\d+)/v1",
    "docs           \\1/docs",
    "database       demo\\.db",
    "key            (so_test_demo_[0-9A-Za-z]{38})            shown once",
    "try            curl --compressed -H 'Authorization: Bearer \\2' \\1/v1/store/orders\n$",
  ].join("\n"),
);

test("serve --webhook sends every change, also one of the command line, with a signature", async () => {
  const types = new Set<string>();
  const receiver = createServer(async (request, response) => {
    const body = await text(request);
    const change = new Webhook(SECRET).verify(body, request.headers as Record<string, string>);
    types.add((change as { type: string }).type);
    response.writeHead(204).end();
  });
  const url = `http://127.0.0.1:${await listenOn(receiver)}/`;
  writeFileSync(join(cli.directory, "secrets"), `${SECRET}\n`);
  const database = ["--database", "webhook.db"];
  const flags = ["--webhook", url, "--webhook-secret-file", "secrets"];
  const { stop } = await cli.serve([...database, ...flags]);
  const store = createSqliteStore({ path: join(cli.directory, "webhook.db") });
  await expect.poll(() => store.outbox?.isOn()).toBe(true);
  await store.close();
  await cli.run(["orders", "place", "--id", "7", ...database]);
  await cli.run(["orders", "cancel", "7", ...database]);
  await expect.poll(() => [...types]).toEqual(["order.place", "order.cancel"]);
  expect(await stop()).toMatchObject({ status: 0 });
  receiver.close();
});

test.each([
  [["--webhook", "https://example.com"], "--webhook: Add --webhook-secret-file"],
  [["--webhook-secret-file", "secrets"], "--webhook-secret-file: Add --webhook"],
  [["--webhook", "https://example.com", "--webhook-secret-file", "none"], "does not exist"],
  [["--webhook", "example.com", "--webhook-secret-file", "secrets"], "--webhook: Write an address"],
  [["--webhook", "http://[::1]:9", "--webhook-secret-file", "weak"], "--webhook-secret-file: Write whsec_"],
  [["--webhook", "http://[::1]:9", "--webhook-secret-file", SECRET], "whsec_…"],
  [["--domains", "mistaken.yaml", "--plan", "pro"], "whsec_…"],
])("serve %j is a usage error without the secret, and creates no database", async (flags, message) => {
  writeFileSync(join(cli.directory, "mistaken.yaml"), `domains: { primary: "${SECRET}" }`);
  writeFileSync(join(cli.directory, "secrets"), `${SECRET}\n`);
  writeFileSync(join(cli.directory, "weak"), "password\n");
  const { status, stderr } = await cli.run(["serve", "--port", "0", "--database", "none.db", ...flags]);
  expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringContaining(message) });
  expect(stderr).not.toMatch(/password|YWFh/);
  expect(existsSync(join(cli.directory, "none.db"))).toBe(false);
});

test("serve --demo adds demo data and prints how to call the API; a second start prints no key and changes nothing", async () => {
  const demo = ["--demo", "--database", "demo.db"];
  const { url, message, stop } = await cli.serve(demo, { pattern: /^try.*\n/m });
  const [, , key = ""] = START_MESSAGE.exec(message) ?? [];
  expect(message).toMatch(START_MESSAGE);
  const headers = { authorization: `Bearer ${key}` };
  const list = await fetch(`${url}/v1/store/orders`, { headers });
  const orders = (await list.json()) as { id: number }[];
  expect(orders.map(({ id }) => id)).toEqual([1001, 1002, 1003, 1004, 1005]);
  const cancel = (id: number) => fetch(`${url}/v1/store/orders/${id}`, { method: "DELETE", headers });
  const cancelled = await Promise.all([1001, 1003, 1005, 7].map(cancel));
  expect(cancelled.map(({ status }) => status)).toEqual([204, 409, 409, 404]);
  const { status, stderr } = await stop();
  expect(status).toBe(0);
  const lines = stderr
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  const [created, started, ...rows] = lines;
  expect(created).toMatchObject({
    level: "warn",
    message: expect.stringMatching(/no store at demo\.db, so/),
  });
  expect(started).toMatchObject({
    level: "info",
    version,
    node: process.version,
    store: "demo.db",
    schema: SCHEMA_VERSION,
    environment: "test",
    settings: { port: 0, trustProxy: false, plan: "free", banPolicy: { maxRejections: 20 } },
  });
  expect(rows).toHaveLength(7);
  expect(rows[0]).toMatchObject({ operation: "listOrders", status: 200, accountId: "demo", plan: "free" });
  expect(rows[0]).toMatchObject({ level: "info", method: "GET", path: "/v1/store/orders" });
  expect(JSON.stringify(rows)).not.toContain("127.0.0.1");
  expect(rows.slice(5)).toMatchObject([
    { level: "info", message: "Stopping because of SIGTERM; requests in flight are completed." },
    { level: "info", message: "Stopped." },
  ]);
  expect(stderr).not.toContain(key);

  const before = await cli.run(["orders", "export", "--database", "demo.db"]);
  const second = await cli.serve(demo);
  expect(second.message).toMatch(/^Store Orders {3}\S+\ndocs {11}\S+\ndatabase {7}demo\.db\n$/);
  const rest = await second.stop("SIGINT");
  expect(rest).toMatchObject({ status: 0, stdout: second.message });
  const [, notice = ""] = rest.stderr.split("\n");
  const [, printed = ""] =
    /^The database has data already.*run: (.*)$/.exec(JSON.parse(notice).message) ?? [];
  expect(printed).toBe("npm run --silent cli -- keys issue --account demo --database demo.db");
  expect(rest.stderr).not.toContain("so_test_");
  expect(await cli.run(["orders", "export", "--database", "demo.db"])).toEqual(before);
  expect(await cli.json("keys", "list", "--account", "demo", "--database", "demo.db")).toHaveLength(1);
});

test("serve --existing serves a database that exists, and exits with an error instead of creating one", async () => {
  const missing = await cli.run(["serve", "--existing", "--port", "0", "--database", "unmounted.db"]);
  expect(missing).toMatchObject({ status: 2, stdout: "" });
  expect(missing.stderr).toContain("There is no database at unmounted.db.");
  writeFileSync(join(cli.directory, "empty.db"), "");
  const empty = await cli.run(["serve", "--existing", "--port", "0", "--database", "empty.db"]);
  expect(empty).toMatchObject({ status: 3, stdout: "" });
  expect(empty.stderr).toContain("The database is empty. Restore it from a backup.");
  expect(existsSync(join(cli.directory, "unmounted.db"))).toBe(false);
  expect(readFileSync(join(cli.directory, "empty.db"), "utf8")).toBe("");

  await cli.run(["accounts", "create", "acme", "--plan", "pro", "--database", "mounted.db"]);
  const { stop } = await cli.serve(["--existing", "--database", "mounted.db"]);
  const { status, stderr } = await stop();
  expect(status).toBe(0);
  expect(stderr).not.toContain('"level":"warn"');
});

test.each([
  [["serve", "--port", "0"], { level: "warn", message: "Careful: Mind the gap." }],
  [["openapi", "--json"], { code: "warning", message: "Careful: Mind the gap." }],
])("a warning of Node in %j is a line of JSON", async ([name = "", ...args], line) => {
  const warn = 'setTimeout(() => process.emitWarning("Mind the gap.", "Careful"), 20)';
  // Loaded by Node before the command, which a timer keeps until the warning is printed.
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(warn)}` };
  const child = processes.spawn([name, ...args, "--database", "warned.db"], { env });
  const exit = waitForExit(child);
  if (name === "serve") {
    await waitForOutput(child, /^database.*\n/m);
    child.kill("SIGTERM");
  }
  const lines = (await exit).stderr.trimEnd().split("\n");
  expect(lines.map((text) => JSON.parse(text))).toContainEqual(expect.objectContaining(line));
});

describe("files that do not exist yet", () => {
  test.each([
    ["--domains", "domains: { primary: orders.example.com }", ["--plan", "pro"]],
    ["--plans", "starter: { perMinute: 30, perDay: 500 }", []],
    ["--webhook-secret-file", `${SECRET}\n`, ["--webhook", "http://127.0.0.1:9"]],
  ])("serve waits for the file of %s, and serves once it is there", async (flag, content, more) => {
    const file = `late${flag}`;
    const wait = async () => writeFileSync(join(cli.directory, file), content);
    const { stop } = await cli.serve(["--database", "late.db", flag, file, ...more], { wait });
    const { status, stderr } = await stop();
    const message = `${file} does not exist; waiting 60 seconds for it.`;
    expect(JSON.parse(stderr.split("\n")[0] ?? "")).toMatchObject({ level: "warn", message });
    expect(status).toBe(0);
  });

  test("serve --existing waits for the database; a signal ends the wait with 0, and nothing was created", async () => {
    const command = "serve --existing --port 0 --database late-folder/late.db";
    const child = processes.spawn(command.split(" "));
    await once(child.stderr, "data");
    child.kill("SIGTERM");
    const { status, stderr } = await waitForExit(child);
    expect([status, stderr]).toEqual([0, expect.stringContaining("Stopped because of SIGTERM")]);
    expect(existsSync(join(processes.directory, "late-folder"))).toBe(false);
  });

  test("serve exits with 2 if they have not come after a minute", async () => {
    const flags = "--existing --database gone.db --plans gone.yaml --domains gone-too.yaml";
    const { status, stderr } = await cli.run(["serve", "--port", "0", "--plan", "pro", ...flags.split(" ")]);
    const [waiting = "", ...report] = stderr.split("\n");
    expect(JSON.parse(waiting).message).toBe(
      "gone.yaml and gone-too.yaml and gone.db do not exist; waiting 60 seconds for them.",
    );
    expect([status, report]).toEqual([2, [expect.stringContaining("gone.yaml: The file does not"), ""]]);
  });
});

test("with Node's --permission, serve needs its own folder and that of the database only", async () => {
  const folder = join(cli.directory, "data");
  mkdirSync(folder);
  const permissions = ["--permission", `--allow-fs-read=${root}`, `--allow-fs-read=${folder}/`];
  const bin = join(root, "lib/cli/bin.ts");
  const args = ["serve", "--port", "0", "--json", "--demo", "--database", join(folder, "orders.db")];
  const { PATH = "" } = baseEnvironment();
  const server = spawn(process.execPath, [...permissions, `--allow-fs-write=${folder}/`, bin, ...args], {
    env: { PATH },
  });
  const exit = waitForExit(server);
  const { docs } = JSON.parse(await waitForOutput(server, /\n/));
  expect((await fetch(new URL("/readyz", docs))).status).toBe(200);
  expect((await fetch(docs)).status).toBe(200);
  server.kill("SIGTERM");
  expect(await exit).toMatchObject({ status: 0, stderr: expect.not.stringContaining('"level":"error"') });
});

test("serve without --demo adds no data, and its flags take precedence over HOST and PORT", async () => {
  const occupied = createServer();
  const port = await listenOn(occupied);
  const env = { HOST: "127.0.0.1", PORT: `${port}`, STORE_ORDERS_DATABASE: "plain.db" };

  const failed = await cli.run(["serve", "--demo"], { env });
  expect(failed).toMatchObject({ status: 3, stdout: "" });
  expect(failed.stderr).toMatch(
    /\nerror: 127.0.0.1:\d+ is already in use\. .*--host or HOST, --port or PORT\.\n$/,
  );
  occupied.close();

  const { message, stop } = await cli.serve(["--host", "localhost", "--json"], { env, pattern: /\n/ });
  const result = JSON.parse(message);
  expect(result).toEqual({
    url: expect.stringMatching(/^http:\/\/localhost:\d+\/v1$/),
    docs: expect.stringMatching(/^http:\/\/localhost:\d+\/docs$/),
    database: "plain.db",
    key: null,
  });
  expect(result.url).not.toContain(`:${port}/`);
  expect((await stop()).status).toBe(0);
  expect(await cli.json("accounts", "list", "--database", "plain.db")).toEqual([]);
});

test("serve with its own port for the metrics names --metrics", async () => {
  const port = `${await freePort()}`;
  const { stderr } = await cli.run(["serve", "--port", port, "--metrics", port, "--database", "plain.db"]);
  expect(stderr).toContain(`${port} is already in use. Choose another address with --metrics, --host`);
});

test("serve --demo does not change a database that has orders but no account", async () => {
  const store = ["--database", "orders.db"];
  await cli.json("orders", "place", "--id", "1", ...store);
  const { message, stop } = await cli.serve(["--demo", ...store]);
  expect(message).not.toContain("key");
  expect((await stop()).status).toBe(0);
  expect(await cli.json("accounts", "list", ...store)).toEqual([]);
  expect((await cli.run(["orders", "export", ...store])).stdout).toBe('{"id":1,"status":"pending"}\n');
});

test("scripts check the Node version first: an older Node exits with 2 and a one-line message", async () => {
  const { scripts } = (await import("../../../package.json", { with: { type: "json" } })).default;
  const old = "data:text/javascript,Object.defineProperty(process,'versions',{value:{node:'20.20.2'}})";
  for (const name of ["start", "cli"] as const) {
    const [command, ...args] = scripts[name].split(" ");
    expect(command).toBe("node");
    const options = { cwd: root, env: baseEnvironment() };
    const outdated = await waitForExit(spawn(process.execPath, ["--import", old, ...args], options));
    expect(outdated).toMatchObject({ status: 2, stdout: "" });
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
  expect((await run(commands[0] ?? "")).stdout).toMatch(/^HTTP\/1\.1 200 /);
  expect((await run(commands[1] ?? "")).stdout).toMatch(/^HTTP\/1\.1 204 /);
  const [, show = ""] = /^npm run --silent cli -- (.*)$/.exec(commands[2] ?? "") ?? [];
  expect((await cli.run(show.split(" "))).stdout).toMatch(/^account +demo\n/);
  stop.resolve("SIGTERM");
  expect(await running).toBe(0);
});

async function serve(database: string, ...flags: readonly string[]) {
  const args = ["--demo", "--json", "--database", database, ...flags];
  const { message, stop } = await cli.serve(args, { pattern: /\}\s*$/ });
  const { url = "", docs = "", key } = JSON.parse(message) as Record<string, string>;
  return { url, docs, headers: { authorization: `Bearer ${key}` }, stop };
}

test("serve --base-path serves everything below the path, and the document names the servers of --server", async () => {
  const production = "https://example.com/shop/v1";
  const staging = "https://staging.example.com/shop/v1";
  const { url, docs, headers, stop } = await serve(
    "base.db",
    ...["--base-path", "/shop", "--server", production, "--server", staging],
  );
  expect([url.endsWith("/shop/v1"), docs.endsWith("/shop/docs")]).toEqual([true, true]);
  expect((await fetch(`${url}/store/orders`, { headers })).status).toBe(200);
  expect((await fetch(docs)).status).toBe(200);
  expect((await fetch(new URL("/v1/store/orders", url), { headers })).status).toBe(404);
  expect((await fetch(new URL("/shop/readyz", url))).status).toBe(200);

  const { servers } = (await (await fetch(new URL("../openapi.json", `${url}/`))).json()) as {
    servers: { url: string }[];
  };
  const addresses = servers.map((server) => new URL(server.url, new URL("/shop/openapi.json", url)).href);
  expect(addresses).toEqual([url, production, staging]);
  const pet = await fetch(`${url}/pets/1`, { headers });
  const [, link = ""] = /^<([^>]+)>/.exec(pet.headers.get("link") ?? "") ?? [];
  expect(new URL(link, url).href).toBe(docs);
  expect((await stop()).status).toBe(0);
});

test("serve --preview v2 serves pages of orders, --key-header keys in a header, and --report-only all requests", async () => {
  const flags = ["--preview", "v2", "--key-header", "x-api-key", "--report-only"];
  const { url, headers, stop } = await serve("preview.db", ...flags);
  const page = await fetch(`${url.replace("/v1", "/v2")}/store/orders?limit=1`, { headers });
  expect([page.status, page.headers.has("link")]).toEqual([200, true]);
  expect((await fetch(`${url}/store/orders`, { headers })).status).toBe(200);
  const key = { "x-api-key": headers.authorization.replace("Bearer ", "") };
  // One more than two minutes permit, because one can end meanwhile.
  const further = Array.from({ length: 121 }, () => fetch(`${url}/store/orders`, { headers: key }));
  const statuses = (await Promise.all(further)).map(({ status }) => status);
  expect(new Set(statuses)).toEqual(new Set([200]));
  const { status, stderr } = await stop();
  expect(status).toBe(0);
  expect(stderr).toContain('"wouldReject":"rate_limit_exceeded"');
});

test("serve --docs-url sets the Link, and --ban-after and --ban-minutes the ban, which the log names", async () => {
  const { url, headers, stop } = await serve(
    "ban.db",
    ...["--docs-url", "https://docs.example.com/pets", "--ban-after", "1", "--ban-minutes", "2"],
  );
  const pet = await fetch(`${url}/pets/1`, { headers });
  expect(pet.headers.get("link")).toMatch(/^<https:\/\/docs\.example\.com\/pets>/);
  let last = pet;
  const store = createSqliteStore({ path: join(cli.directory, "ban.db") });
  const hash = hashKey(headers.authorization.replace("Bearer ", ""));
  const presented = { accountId: "demo", hash };
  // What is counted here bans nobody.
  const policy = { maxRejections: 1_000, durationMs: 1 };
  let [usedUpIn, recordedIn] = [0, 0];
  const isBanned = async () => {
    const now = Date.now();
    const minute = Math.floor(now / 60_000);
    if (minute !== usedUpIn) {
      usedUpIn = minute;
      for (let request = 0; request < 60; request++) await store.accounts.admit(presented, now, policy);
    }
    last = await fetch(`${url}/store/orders/9`, { method: "DELETE", headers });
    const { code } = (await last.json()) as { code: string };
    // What comes within ten seconds of the first 429 does not count towards a ban, unless one has counted in this minute.
    if (code === "rate_limit_exceeded" && minute !== recordedIn) {
      recordedIn = minute;
      await store.accounts.recordRejections(presented, 1, now, policy);
    }
    return code === "api_key_banned";
  };
  await expect.poll(isBanned, { interval: 10 }).toBe(true);
  await store.close();
  expect(last.status).toBe(429);
  expect(Number(last.headers.get("retry-after"))).toBeGreaterThan(60);
  expect(Number(last.headers.get("retry-after"))).toBeLessThanOrEqual(120);
  const { stderr } = await stop();
  const lines = stderr.split("\n").flatMap((line) => (line.startsWith("{") ? [JSON.parse(line)] : []));
  const [over] = lines.filter(({ errorCode }) => errorCode === "rate_limit_exceeded");
  expect(over).toMatchObject({ limit: 60, limitedUntil: expect.stringMatching(/:00\.000Z$/) });
  const [start] = lines.filter(({ startsBan }) => startsBan);
  const message = `Key ${start.keyId} is banned until ${start.limitedUntil}: it went on after a 429.`;
  expect(lines).toContainEqual({ at: expect.any(String), level: "warn", message });
});

test.each<readonly [flags: readonly string[], env: Record<string, string>, seconds: number]>([
  [[], {}, 5],
  [["--keep-alive-seconds", "75"], { STORE_ORDERS_KEEP_ALIVE_SECONDS: "90" }, 75],
  [[], { STORE_ORDERS_KEEP_ALIVE_SECONDS: "90" }, 90],
])("serve %j with %j keeps idle connections %i s, here behind two proxies", async (flags, env, seconds) => {
  const args = ["--json", "--database", "keep.db", "--log-addresses", "--trust-proxy", "2", ...flags];
  const { message, stop } = await cli.serve(args, { pattern: /\}\s*$/, env });
  const headers = { "x-forwarded-for": "198.51.100.7, 192.0.2.1, 10.0.0.1" };
  const response = await fetch(`${JSON.parse(message).url}/store/orders`, { headers });
  expect(response.headers.get("keep-alive")).toBe(`timeout=${seconds}`);
  expect((await stop()).stderr).toContain('"address":"192.0.2.1"');
});

test("a stop takes eight seconds, although a receiver never answers: Docker kills after ten", async () => {
  const receiver = createServer(() => {});
  const connected = once(receiver, "request");
  const url = `http://127.0.0.1:${await listenOn(receiver)}/`;
  writeFileSync(join(cli.directory, "secrets"), `${SECRET}\n`);
  const database = ["--database", "silent.db"];
  const { stop } = await cli.serve([...database, "--webhook", url, "--webhook-secret-file", "secrets"]);
  expect(await cli.json("database", "outbox", "on", ...database)).toMatchObject({ outbox: "on" });
  await cli.run(["orders", "place", "--id", "7", ...database]);
  await connected;
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const stopped = stop();
  await vi.advanceTimersByTimeAsync(7_999);
  expect(await Promise.race([stopped, "waiting"])).toBe("waiting");
  await vi.advanceTimersByTimeAsync(1);
  vi.useRealTimers();
  const { status, stderr } = await stopped;
  expect([status, stderr]).toEqual([0, expect.stringMatching(/change 7:1:\w+: It was cut off/)]);
  receiver.close().closeAllConnections();
});

describe("a signal", () => {
  /** The list has 11 MB: more than the buffers of a connection hold while its client does not read. */
  const ORDERS = 80_000;
  let key = "";
  beforeAll(async () => {
    const store = createSqliteStore({ path: join(cli.directory, "long.db") });
    const orders = Array.from({ length: ORDERS }, (_, id) => ({
      record: {
        ...{ id: BigInt(id), petId: 9_007_199_254_740_993n, quantity: 2_147_483_647 },
        ...{ shipDate: "2026-11-20T12:00:00.000Z", complete: false },
      },
      status: "pending" as const,
    }));
    await store.orders.place(orders);
    await store.close();
    const database = ["--database", "long.db"];
    await cli.json("accounts", "create", "acme", "--plan", "pro", ...database);
    ({ key } = await cli.json<{ key: string }>("keys", "issue", "--account", "acme", ...database));
  });

  test.each(["SIGTERM", "SIGHUP"] as const)(
    "%s ends after the requests in flight, with 0",
    async (signal) => {
      const { url, stop } = await processes.serve(["--database", join(cli.directory, "long.db")]);
      const { hostname, port } = new URL(url);
      const socket = connect(Number(port), hostname);
      socket.write(`GET /v1/store/orders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`);
      await once(socket, "readable");
      const exit = stop(signal);
      const isRefused = () =>
        new Promise((resolve) => {
          const another = connect(Number(port), hostname, () => resolve(false));
          another.once("error", () => resolve(true)).once("connect", () => another.destroy());
        });
      await expect.poll(isRefused).toBe(true);

      let response = "";
      for await (const chunk of socket) response += chunk;
      const body = response.slice(response.indexOf("\r\n\r\n"));
      expect(body.match(/"id":/g)?.length).toBe(ORDERS);
      expect(body.trimEnd().endsWith("\r\n0")).toBe(true);
      const { status, stderr } = await exit;
      expect(status).toBe(0);
      const lines = stderr.trimEnd().split("\n");
      expect(lines).toHaveLength(4);
      expect(JSON.parse(lines[2] ?? "")).toMatchObject({ status: 200, bodyEnd: "complete" });
    },
  );

  test("SIGTERM ends the server with 0 while nothing reads its log", async () => {
    const server = processes.spawn(["serve", "--port", "0", "--database", "stalled.db"]);
    const [, url = ""] = /(http:\S+)\/v1/.exec(await waitForOutput(server, /^database.*\n/m)) ?? [];
    // More log lines than the pipe of standard error holds.
    for (let batch = 0; batch < 4; batch++) {
      const requests = Array.from({ length: 50 }, () => fetch(`${url}/${"x".repeat(500)}`));
      for (const response of await Promise.all(requests)) await response.text();
    }
    const exit = once(server, "exit", { signal: AbortSignal.timeout(8_000) });
    server.kill("SIGTERM");
    expect(await exit).toEqual([0, null]);
    server.stderr.resume();
  });
});

test.skipIf(skipsBecause("a signal to npm stops the server", noPosix))(
  "npm start accepts arguments, and a signal to npm stops the server",
  async () => {
    const args = ["start", "--", "--port", "0", "--database", join(cli.directory, "npm.db")];
    const npm = spawn("npm", args, { cwd: root, env: baseEnvironment() });
    const message = await waitForOutput(npm, /^try.*\n/m);
    const [, url = ""] = /(http:\S+)\/v1/.exec(message) ?? [];
    expect((await fetch(`${url}/v1/store/orders`)).status).toBe(401);
    npm.kill("SIGTERM");
    await expect
      .poll(() =>
        fetch(`${url}/v1/store/orders`).then(
          () => "serving",
          () => "stopped",
        ),
      )
      .toBe("stopped");
  },
);
