import { readFileSync, statSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, describe, expect, test } from "vitest";
import { createCommandLine, waitForExit, waitForOutput } from "../support/command-line.ts";
import { askEverything } from "./secrets/ask-everything.ts";
import { listenThroughout } from "./secrets/listen-throughout.ts";
import { strangersKey } from "./secrets/listener.ts";

const listener = listenThroughout("the command line and the server");
const { hear, keep } = listener;

describe("the command line and the server", () => {
  const cli = createCommandLine();
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

  test("show a key only once, when it is issued", async () => {
    await heard(["accounts", "create", "shop", "--plan", "free"]);
    await heard(["orders", "place", "--id", "1"]);
    const first = await issued("keys", "issue", "--account", "shop");
    const second = await issued("keys", "rotate", first.keyId, "--overlap", "0");
    const third = await issued("keys", "issue", "--account", "shop");
    for (const words of [
      ["keys", "list", "--account", "shop"],
      ["keys", "list", "--account", "shop", "--json"],
      ["keys", "revoke", second.keyId],
      ["keys", "unban", third.keyId, "--json"],
      ["accounts", "list", "--json"],
      ["accounts", "set-plan", "shop", "--plan", "pro"],
      ["orders", "export"],
    ]) {
      expect((await heard(words)).status, words.join(" ")).toBe(0);
    }

    const server = cli.spawn(["serve", "--port", "0", ...store]);
    const over = waitForExit(server);
    const start = await waitForOutput(server, /^database.*\n/m);
    const url = /(http:\S+)\/v1/.exec(start)?.[1] ?? "";
    const keys = [first.key, second.key, third.key, mistaken];
    await askEverything(listener, keys, (method, path, headers) => fetch(url + path, { method, headers }));
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
    writeFileSync(join(cli.directory, "shop.db"), "no database any more", { flag: "r+" });
    await askEverything(listener, [first.key], (method, path, headers) =>
      fetch(url + path, { method, headers }),
    );
    server.kill("SIGTERM");
    const { stdout, stderr } = await over;
    expect(stderr.split("\n").length).toBeGreaterThan(300);
    hear("the server's output", start + stdout);
    hear("the server's log", stderr);
  });

  test("never repeat a key that is passed as another argument", async () => {
    const said = await Promise.all(
      [
        [mistaken],
        ["keys", mistaken],
        ["keys", "revoke", mistaken],
        ["keys", "unban", mistaken, mistaken],
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

  test("redact keys in the message of a crash", async () => {
    const crash = `setTimeout(() => { throw new Error("lost ${mistaken}") }, 0)`;
    const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(crash)}` };
    const { status, stdout, stderr } = await cli.run(["serve", "--port", "0", "--database", "other.db"], {
      env,
    });
    expect(status).toBe(1);
    expect(stderr).toContain("lost so_live_shop_…");
    hear("a crash", stdout + stderr);
  });

  test("store no key on disk, and create files that only their owner can read, whatever the umask", async () => {
    const folder = join(cli.directory, "private");
    const umask = process.umask(0);
    const server = cli.spawn(["serve", "--demo", "--port", "0", "--database", "private/demo.db"]);
    process.umask(umask);
    const start = await waitForOutput(server, /^try .*\n/m);
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
  });
});
