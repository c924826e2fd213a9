import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { createCommandLine } from "../support/command-line.ts";
import { describeInBrowser } from "./browser.ts";

describeInBrowser("cross-origin requests in a browser", (browser) => {
  let script: string;
  const cli = createCommandLine();
  beforeAll(async () => {
    script = await bundleClient();
  });
  afterAll(() => cli[Symbol.dispose]());

  /** A page of its own origin, and `serve` with further flags. */
  async function open(flagsFor: (origin: string) => readonly string[]) {
    const html = "<!doctype html><title>shop</title>";
    const shop = createServer((_, res) => res.setHeader("content-type", "text/html").end(html));
    await once(shop.listen(0, "127.0.0.1"), "listening");
    const origin = `http://127.0.0.1:${(shop.address() as AddressInfo).port}`;
    const database = `${Math.random()}.db`;
    const flags = ["--demo", "--json", "--database", database, ...flagsFor(origin)];
    const { message, stop } = await cli.serve(flags, { pattern: /\}\s*$/ });
    const { url: baseUrl, key: apiKey } = JSON.parse(message);
    const page = await browser().newPage();
    await page.goto(origin);
    await page.addScriptTag({ content: script });
    onTestFinished(async () => {
      await page.close();
      await stop();
      shop.close().closeAllConnections();
    });
    /** Runs code in the page, with a client and its options. */
    const run = (code: string) =>
      page.evaluate(`(async () => {
        const options = ${JSON.stringify({ baseUrl, apiKey, maxAttempts: 1 })};
        const client = createClient(options);
        ${code}
      })().catch((error) => error.name)`);
    return { run, database };
  }

  const LIST = "const ids = []; for await (const { id } of client.list()) ids.push(Number(id)); return ids;";
  const CANCEL = "return (await client.cancel(1001n)).ok;";
  const HEADERS = `
    const headers = { authorization: "Bearer " + options.apiKey };
    const response = await fetch(options.baseUrl + "/store/orders", { headers });
    return [response.headers.get("x-ratelimit-limit"), (response.headers.get("x-request-id") ?? "").length];`;

  test("lists and cancels with --cors-origin, and reads the limits", async () => {
    const { run, database } = await open((origin) => ["--cors-origin", origin]);
    expect(await run(LIST)).toEqual([1001, 1002, 1003, 1004, 1005]);
    expect(await run(CANCEL)).toBe(true);
    expect(await run(HEADERS)).toEqual(["60", 36]);
    const order = await cli.json<{ status: string }>("orders", "get", "1001", "--database", database);
    expect(order.status).toBe("cancelled");
  });

  test.each([
    ["without --cors-origin", () => []],
    ["with another origin", () => ["--cors-origin", "https://shop.example.com"]],
  ])("can neither list nor cancel %s", async (_, flags: () => readonly string[]) => {
    const { run, database } = await open(flags);
    expect(await run(HEADERS)).toBe("TypeError");
    expect(await run(CANCEL)).not.toBe(true);
    const order = await cli.json<{ status: string }>("orders", "get", "1001", "--database", database);
    expect(order.status).toBe("pending");
  });
});

async function bundleClient(): Promise<string> {
  const entry = new URL("../../lib/client/index.ts", import.meta.url).pathname;
  const contents = `import { createClient } from ${JSON.stringify(entry)}; globalThis.createClient = createClient;`;
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: import.meta.dirname },
    ...{ bundle: true, platform: "browser", format: "iife", write: false, logLevel: "silent" },
  });
  return outputFiles[0]?.text ?? "";
}
