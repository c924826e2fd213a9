import { writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, describe, expect, test } from "vitest";
import { createCommandLine } from "../support/command-line.ts";
import { detectLeaks } from "./secrets/detect-leaks.ts";
import { unknownKey } from "./secrets/leak-detector.ts";
import { sendKeysEverywhere } from "./secrets/send-keys-everywhere.ts";

const detector = detectLeaks("the command line and the server");
const { record, addSecret } = detector;

describe("the command line and the server", () => {
  const cli = createCommandLine();
  afterAll(() => cli[Symbol.dispose]());
  const store = ["--database", "shop.db"];

  /** Runs a command and records its output, except the standard output of a command that shows a key on purpose. */
  async function run(args: readonly string[], { showsKey }: { readonly showsKey?: boolean } = {}) {
    const result = await cli.run([...args, ...store]);
    record(args.slice(0, 2).join(" "), result.stderr);
    if (showsKey !== true) record(args.slice(0, 2).join(" "), result.stdout);
    return result;
  }

  async function issueKey(...args: readonly string[]) {
    const { stdout } = await run([...args, "--json"], { showsKey: true });
    const { key, keyId } = JSON.parse(stdout) as { key: string; keyId: string };
    addSecret(key);
    expect(stdout.split(key)).toHaveLength(2);
    return { key, keyId };
  }

  const neverIssued = unknownKey();
  addSecret(neverIssued);

  test("the command line and the server show a key only once, when it is issued", async () => {
    await run(["accounts", "create", "shop", "--plan", "free"]);
    await run(["orders", "place", "--id", "1"]);
    const first = await issueKey("keys", "issue", "--account", "shop");
    const second = await issueKey("keys", "rotate", first.keyId, "--overlap", "0");
    const third = await issueKey("keys", "issue", "--account", "shop");
    for (const args of [
      ["keys", "list", "--account", "shop"],
      ["keys", "list", "--account", "shop", "--json"],
      ["keys", "revoke", second.keyId],
      ["keys", "unban", third.keyId, "--json"],
      ["accounts", "list", "--json"],
      ["accounts", "set-plan", "shop", "--plan", "pro"],
      ["orders", "export"],
    ]) {
      expect((await run(args)).status, args.join(" ")).toBe(0);
    }

    const { url, stop } = await cli.serve(store);
    const keys = [first.key, second.key, third.key, neverIssued];
    await sendKeysEverywhere(detector, keys, (method, path, headers) =>
      fetch(url + path, { method, headers }),
    );
    const { hostname, port } = new URL(url);
    for (const bytes of [`${neverIssued}\r\n\r\n`, `GET /${neverIssued} HTTP/9\r\n${neverIssued}\r\n\r\n`]) {
      const socket = connect(Number(port), hostname);
      socket.write(bytes);
      record("invalid HTTP", await text(socket));
    }
    // A flood, so that rejections are logged too.
    const bearer = { authorization: `Bearer ${third.key}` };
    let status = 0;
    for (let request = 0; request < 1_400 && status !== 429; request++) {
      status = (await fetch(`${url}/v1/store/orders`, { headers: bearer })).status;
    }
    expect(status).toBe(429);
    writeFileSync(join(cli.directory, "shop.db"), "not a database", { flag: "r+" });
    await sendKeysEverywhere(detector, [first.key], (method, path, headers) =>
      fetch(url + path, { method, headers }),
    );
    const { stdout, stderr } = await stop();
    expect(stderr.split("\n").length).toBeGreaterThan(300);
    record("the server's output", stdout);
    record("the server's log", stderr);
  });

  test("the command line and the server never repeat a key that is passed as another argument", async () => {
    const result = await Promise.all(
      [
        [neverIssued],
        ["keys", neverIssued],
        ["keys", "revoke", neverIssued],
        ["keys", "unban", neverIssued, neverIssued],
        ["keys", "rotate", neverIssued, "--overlap", neverIssued],
        ["keys", "list", "--account", neverIssued],
        ["keys", "issue", "--account", "shop", "--expires", neverIssued],
        ["accounts", "create", neverIssued, "--plan", neverIssued],
        ["orders", "ship", neverIssued],
        ["orders", "import", neverIssued],
        ["domains", "check", neverIssued, "--target", neverIssued],
        ["serve", "--port", neverIssued],
        ["serve", `--${neverIssued}`],
      ].map((args) => run(args)),
    );
    for (const { status, stderr } of result) {
      expect(status).toBeGreaterThan(0);
      expect(stderr).toMatch(/^error: /);
    }
    expect(result.some(({ stderr }) => stderr.includes("so_live_shop_…"))).toBe(true);
  });

  test("redact keys in the message of a crash", async () => {
    const crash = `setTimeout(() => { throw new Error("lost ${neverIssued}") }, 0)`;
    const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(crash)}` };
    const { status, stdout, stderr } = await cli.run(["serve", "--port", "0", "--database", "other.db"], {
      env,
    });
    expect(status).toBe(1);
    expect(stderr).toContain("lost so_live_shop_…");
    record("a crash", stdout + stderr);
  });
});
