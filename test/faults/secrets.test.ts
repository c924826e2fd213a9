import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { createTelemetry } from "../../infra/functions/telemetry.ts";
import { rememberRefusals } from "../../lib/accounts/refusal-memory.ts";
import { createHandler } from "../../lib/http/handler.ts";
import { docsPage } from "../../lib/runtimes/node.ts";
import { createDynamodbStore, createDynamodbTables } from "../../lib/stores/dynamodb.ts";
import { commandLine, ended, written } from "../cli/command-line.ts";
import { openShop } from "../http/shop.ts";
import { clientFor, startEmulator } from "../stores/dynamodb/emulator.ts";
import { tapWire } from "../stores/dynamodb/wire.ts";
import { tell } from "./run.ts";
import { createListener, strangersKey } from "./secrets/listener.ts";

const listener = createListener();
const { hear, keep } = listener;
let found = 0;
afterEach(() => {
  const leaks = listener.leaks();
  found += leaks.length;
  expect(leaks).toEqual([]);
});
afterAll(() =>
  tell("secrets", {
    "texts that left the service": listener.texts,
    "keys and hashes looked for in each": listener.secrets,
    found,
  }),
);

/** Sends requests with every kind of key, put where keys belong and where they do not, and hears what comes back. */
async function askEverything(
  keys: readonly string[],
  send: (method: string, path: string, headers: Readonly<Record<string, string>>) => Promise<Response>,
): Promise<void> {
  for (const key of keys) {
    const bearer = { authorization: `Bearer ${key}` };
    for (const [method, path, headers] of [
      ["GET", "/v1/store/orders", bearer],
      ["DELETE", "/v1/store/orders/1", bearer],
      ["DELETE", `/v1/store/orders/${key}`, bearer],
      ["GET", `/v1/pets/${key}?key=${key}`, bearer],
      ["GET", `/${key}`, { authorization: key }],
      ["PUT", "/v1/store/orders", { authorization: `Basic ${key}`, cookie: key, "x-api-key": key }],
      ["GET", `/docs?key=${key}`, { referer: `http://localhost/${key}` }],
      ["GET", "/openapi.json", { authorization: `Bearer ${key}x`, "x-request-id": key }],
    ] as const) {
      const answer = await send(method, path, headers);
      const fields = [...answer.headers].map(([name, value]) => `${name}: ${value}`);
      hear(`${method} ${path.replace(key, "KEY")}`, `${fields.join("\n")}\n\n${await answer.text()}`);
    }
  }
}

describe("the listener", () => {
  test("finds a key, a part of one, and its hash in any form", () => {
    const own = createListener();
    const key = own.keep(strangersKey());
    own.hear("a log", `with ${key} in it`);
    own.hear("a name", key.slice(-38));
    own.hear("nothing", key.slice(0, -38));
    expect(own.leaks()).toEqual(["a log: a key", "a name: a key"]);
  });
});

describe("the command line and the server", () => {
  const cli = commandLine();
  afterAll(() => cli[Symbol.dispose]());
  const store = ["--database", "shop.db"];

  /** Runs a command and hears all that it says; what it shows of a key on purpose is told apart. */
  async function heard(words: readonly string[], { shows }: { readonly shows?: boolean } = {}) {
    const said = await cli.run([...words, ...store]);
    hear(words.slice(0, 2).join(" "), said.stderr);
    if (shows !== true) hear(words.slice(0, 2).join(" "), said.stdout);
    return said;
  }

  async function issued(...words: readonly string[]) {
    const { stdout } = await heard([...words, "--json"], { shows: true });
    const { key, keyId } = JSON.parse(stdout) as { key: string; keyId: string };
    keep(key);
    expect(stdout.split(key)).toHaveLength(2);
    return { key, keyId };
  }

  const mistaken = strangersKey();
  keep(mistaken);

  test("show a key in the one answer to its issue, and in nothing else", async () => {
    await heard(["accounts", "create", "shop", "--plan", "free"]);
    await heard(["orders", "place", "--id", "1"]);
    const first = await issued("keys", "issue", "--account", "shop");
    const second = await issued("keys", "rotate", first.keyId, "--overlap", "0");
    const third = await issued("keys", "issue", "--account", "shop");
    for (const words of [
      ["keys", "list", "--account", "shop"],
      ["keys", "list", "--account", "shop", "--json"],
      ["keys", "revoke", second.keyId],
      ["keys", "pardon", third.keyId, "--json"],
      ["accounts", "list", "--json"],
      ["accounts", "set-plan", "shop", "--plan", "pro"],
      ["orders", "export"],
    ]) {
      expect((await heard(words)).status, words.join(" ")).toBe(0);
    }

    const server = cli.spawn(["serve", "--port", "0", ...store]);
    const over = ended(server);
    const start = await written(server, /^database.*\n/m);
    const url = /(http:\S+)\/v1/.exec(start)?.[1] ?? "";
    const keys = [first.key, second.key, third.key, mistaken];
    await askEverything(keys, (method, path, headers) => fetch(url + path, { method, headers }));
    const { hostname, port } = new URL(url);
    for (const bytes of [`${mistaken}\r\n\r\n`, `GET /${mistaken} HTTP/9\r\n${mistaken}\r\n\r\n`]) {
      const socket = connect(Number(port), hostname);
      socket.write(bytes);
      hear("no HTTP", await text(socket));
    }
    // A flood, so that refusals are among what is logged.
    const bearer = { authorization: `Bearer ${third.key}` };
    let status = 0;
    for (let request = 0; request < 700 && status !== 429; request++) {
      status = (await fetch(`${url}/v1/store/orders`, { headers: bearer })).status;
    }
    expect(status).toBe(429);
    writeFileSync(join(cli.folder, "shop.db"), "no database any more", { flag: "r+" });
    await askEverything([first.key], (method, path, headers) => fetch(url + path, { method, headers }));
    server.kill("SIGTERM");
    const { stdout, stderr } = await over;
    expect(stderr.split("\n").length).toBeGreaterThan(300);
    hear("the server's output", start + stdout);
    hear("the server's log", stderr);
  });

  test("repeat no key that was given in the wrong place", async () => {
    const said = await Promise.all(
      [
        [mistaken],
        ["keys", mistaken],
        ["keys", "revoke", mistaken],
        ["keys", "pardon", mistaken, mistaken],
        ["keys", "rotate", mistaken, "--overlap", mistaken],
        ["keys", "list", "--account", mistaken],
        ["keys", "issue", "--account", "shop", "--expires", mistaken],
        ["accounts", "create", mistaken, "--plan", mistaken],
        ["orders", "ship", mistaken],
        ["orders", "import", mistaken],
        ["domains", "check", mistaken, "--target", mistaken],
        ["serve", "--port", mistaken],
        ["serve", `--${mistaken}`],
      ].map((words) => heard(words)),
    );
    for (const { status, stderr } of said) {
      expect(status).toBeGreaterThan(0);
      expect(stderr).toMatch(/^error: /);
    }
    expect(said.some(({ stderr }) => stderr.includes("so_live_shop_…"))).toBe(true);
  });

  test("take no key along when they crash", async () => {
    const crash = `setTimeout(() => { throw new Error("lost ${mistaken}") }, 0)`;
    const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(crash)}` };
    const { status, stdout, stderr } = await cli.run(["serve", "--port", "0", "--database", "other.db"], {
      env,
    });
    expect(status).toBe(1);
    expect(stderr).toContain("lost so_live_shop_…");
    hear("a crash", stdout + stderr);
  });

  test("keep no key on disk, and let nobody else read the files, whatever the umask", async () => {
    const folder = join(cli.folder, "private");
    const umask = process.umask(0);
    const server = cli.spawn(["serve", "--demo", "--port", "0", "--database", "private/demo.db"]);
    process.umask(umask);
    const start = await written(server, /^try .*\n/m);
    const key = keep(/so_test_demo_\w+/.exec(start)?.[0] ?? "");
    const url = /(http:\S+)\/v1/.exec(start)?.[1] ?? "";
    await fetch(`${url}/v1/store/orders`, { headers: { authorization: `Bearer ${key}` } });
    expect(statSync(folder).mode & 0o077).toBe(0);
    for (const suffix of ["", "-wal", "-shm"]) {
      const file = join(folder, `demo.db${suffix}`);
      expect(statSync(file).mode & 0o077, suffix).toBe(0);
      expect(readFileSync(file, "latin1")).not.toContain(key.slice(-38, -10));
    }
    server.kill("SIGTERM");
    chmodSync(folder, 0o700);
  });
});

test("the functions' log and metrics have none, nor does what goes to DynamoDB have a key", async () => {
  const emulator = await startEmulator("all-old");
  let isDown = false;
  const wire = await tapWire(emulator.endpoint, () => !isDown);
  const client = clientFor(wire.endpoint);
  await createDynamodbTables({ prefix: "secret", client });
  const sent: string[] = [];
  client.middlewareStack.add(
    (next) => (args) => {
      sent.push(JSON.stringify(args.request));
      return next(args);
    },
    { step: "finalizeRequest", name: "listen" },
  );
  const { orders, accounts } = createDynamodbStore({ prefix: "secret", client });
  const telemetry = createTelemetry({ namespace: "secret", write: (line) => hear("the log", line) });
  const shop = await openShop({ store: { orders, accounts, close: async () => {} } });
  keep(shop.key);
  const handler = createHandler({
    store: telemetry.watch({ orders, accounts: rememberRefusals(accounts) }),
    onRequest: telemetry.onRequest,
    clock: () => shop.time.now,
    banPolicy: { refusals: 2, duration: 60_000 },
    pages: docsPage(),
    pets: async () => {
      throw new Error(`The caller sent Bearer ${shop.key}`);
    },
  });
  const ask = (method: string, path: string, headers: Readonly<Record<string, string>>) =>
    handler(new Request(`http://localhost${path}`, { method, headers }), { address: "192.0.2.1" });
  const bearer = { authorization: `Bearer ${shop.key}` };
  const pet = await ask("GET", "/v1/pets/1", bearer);
  expect(pet.status).toBe(500);
  hear("an error", await pet.text());
  const statuses = new Set<number>();
  for (let request = 0; request < 70; request++) {
    statuses.add((await ask("GET", "/v1/store/orders", bearer)).status);
  }
  expect(statuses).toEqual(new Set([200, 429]));
  await askEverything([shop.key, keep(strangersKey())], ask);
  isDown = true;
  const down = await ask("GET", "/v1/store/orders", { authorization: `Bearer ${keep(strangersKey())}` });
  expect(down.status).toBe(503);
  hear("an outage", await down.text());

  expect(sent.length).toBeGreaterThan(100);
  expect(sent.filter((request) => request.includes(shop.key.slice(-38, -10)))).toEqual([]);
  client.destroy();
  await wire.close();
  await emulator.stop();
});
