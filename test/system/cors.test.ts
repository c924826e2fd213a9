import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { createCommandLine } from "../support/command-line.ts";
import { listenOn } from "../support/free-port.ts";
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
    const origin = `http://127.0.0.1:${await listenOn(shop)}`;
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
    const run = (code: string) =>
      page.evaluate(`(async () => {
        const options = ${JSON.stringify({ baseUrl, apiKey, maxAttempts: 1 })};
        const client = createClient(options);
        ${code}
      })().catch((error) => error.name)`);
    return { run, database, page, baseUrl, apiKey, origin };
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

  test("the page of the document shows a countdown instead of waiting, and then the orders", async () => {
    const { page, baseUrl, apiKey, origin } = await open((allowed) => ["--cors-origin", allowed]);
    const [, html = "", script = ""] =
      /```html\n(.+?)<script type="module">\n(.+?)<\/script>/s.exec(
        readFileSync(new URL("../../lib/client/README.md", import.meta.url), "utf8"),
      ) ?? [];
    expect(html.split("\n").length + script.split("\n").length).toBeLessThan(40);
    let requests = 0;
    await page.route(`${baseUrl}/store/orders`, (route) => {
      if (++requests > 1) return route.continue();
      const exposed = "Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset";
      const allowed = { "access-control-allow-origin": origin, "access-control-expose-headers": exposed };
      return route.fulfill({ status: 429, headers: { ...allowed, "retry-after": "3" }, body: "" });
    });
    page.on("dialog", (dialog) => void dialog.accept(apiKey));
    await page.setContent(html);
    await page.addScriptTag({
      content: await bundle(script.replace("https://orders.example.com/v1", baseUrl)),
    });
    const text = () => page.evaluate<string>("document.querySelector('output').textContent");
    await page.click("button");
    await expect.poll(text).toBe("Try again in 2 s.");
    expect(await page.isDisabled("button")).toBe(true);
    await expect.poll(text).toBe("Try again.");
    await page.click("button");
    await expect.poll(text).toBe("These are all orders.");
    expect(await page.locator("li").allTextContents()).toEqual(["1001", "1002", "1003", "1004", "1005"]);
    expect(requests).toBe(2);
  });
});

const CLIENT = new URL("../../lib/client/index.ts", import.meta.url).pathname;

const bundleClient = () =>
  bundle('import { createClient } from "store-orders/client"; globalThis.createClient = createClient;');

/** Bundles a program that uses the client. */
async function bundle(contents: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: import.meta.dirname },
    alias: { "store-orders/client": CLIENT },
    ...{ bundle: true, platform: "browser", format: "iife", write: false, logLevel: "silent" },
  });
  return outputFiles[0]?.text ?? "";
}
