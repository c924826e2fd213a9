import { accessSync } from "node:fs";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { OPERATIONS } from "../../lib/http/operations.ts";
import { docsPage } from "../../lib/node/docs/docs-page.ts";
import { startNodeServer } from "../../lib/node/server.ts";
import { MAX, openShop } from "../http/fixture.ts";

/** Debian's: `apt-get install chromium`. */
const CHROMIUM = "/usr/bin/chromium";
/** A browser that talks to nobody of its own accord. */
const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

function reasonToSkip(): string | undefined {
  try {
    accessSync(CHROMIUM);
    return undefined;
  } catch {
    return `there is no ${CHROMIUM}; apt-get install chromium`;
  }
}
const reason = reasonToSkip();
if (reason !== undefined) process.stderr.write(`docs page in a browser: skipped, ${reason}\n`);

describe.skipIf(reason !== undefined)("the docs page in a browser", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
  });
  afterAll(() => browser?.close());

  /** The page as a person sees it, and all that went wrong on the way. */
  async function open(look: Parameters<Browser["newPage"]>[0] = {}) {
    const operations = OPERATIONS.map((operation) =>
      operation.id === "cancelOrder" ? { ...operation, stability: "beta" as const } : operation,
    );
    const pets = async (id: bigint) => ({ id, name: "Rex" });
    const shop = await openShop({ pages: docsPage(), operations, pets });
    const server = await startNodeServer({ handler: shop.handler, port: 0 });
    const page = await browser.newPage(look);
    onTestFinished(async () => {
      await page.close();
      await server.close({ grace: 0 });
    });
    const complaints: string[] = [];
    const elsewhere: string[] = [];
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) complaints.push(message.text());
    });
    page.on("pageerror", (error) => complaints.push(error.message));
    page.on("request", (request) => {
      const { protocol, origin } = new URL(request.url());
      if (protocol !== "data:" && origin !== server.url) elsewhere.push(request.url());
    });
    await page.goto(`${server.url}/docs`);
    await page.waitForSelector("[id$=getPet]");
    return { ...shop, page, url: server.url, complaints, elsewhere };
  }

  async function enterKey(page: Page, key: string) {
    await page.click("button.authorize");
    await page.fill(".auth-container input", key);
    await page.click(".auth-btn-wrapper button[type=submit]");
    await page.click(".auth-btn-wrapper .btn-done");
  }

  async function tryOut(page: Page, operation: string, argument: string) {
    const block = page.locator(`[id$=${operation}]`);
    await block.locator(".opblock-summary-control").click();
    await block.locator(".try-out__btn").click();
    await block.locator(".parameters input").fill(argument);
    await block.locator(".execute").click();
    const answer = block.locator(".live-responses-table");
    await answer.waitFor();
    return answer.innerText();
  }

  test("loads with nothing in the console and no request off the host", async () => {
    const { page, complaints, elsewhere } = await open();
    await page.waitForLoadState("networkidle");
    expect(complaints).toEqual([]);
    expect(elsewhere).toEqual([]);
  });

  test("shows which operation is leaving and which may still change", async () => {
    const { page } = await open();
    expect(await page.locator("[id$=getPet] .badge").innerText()).toBe("deprecated, gone from 2027-06-01");
    expect(await page.locator("[id$=cancelOrder] .badge").innerText()).toBe("beta");
    expect(await page.locator("[id$=listOrders] .badge").count()).toBe(0);
  });

  test("the list cannot be tried, the others can", async () => {
    const { page } = await open();
    for (const [operation, buttons] of [
      ["listOrders", 0],
      ["cancelOrder", 1],
      ["getPet", 1],
    ] as const) {
      const block = page.locator(`[id$=${operation}]`);
      await block.locator(".opblock-summary-control").click();
      await block.locator(".responses-wrapper").waitFor();
      expect(await block.locator(".try-out__btn").count(), operation).toBe(buttons);
    }
  });

  test("a cancel answers 204 and shows its headers; the key is entered once, and kept nowhere", async () => {
    const { page, key, store, complaints, elsewhere, url } = await open();
    await enterKey(page, key);
    const answer = await tryOut(page, "cancelOrder", `${MAX}`);
    expect(answer).toContain("204");
    expect(answer).toMatch(/x-ratelimit-limit: 60\s+x-ratelimit-remaining: 59\s+x-ratelimit-reset: \d+/);
    expect(await store.orders.find(MAX)).toMatchObject({ status: "cancelled" });

    const pet = await tryOut(page, "getPet", `${MAX}`);
    expect(pet).toContain(`"id":${MAX}`);
    expect(pet).toMatch(/sunset: \w/);
    expect(complaints).toEqual([]);
    expect(elsewhere).toEqual([]);
    expect(await page.evaluate("[localStorage.length, sessionStorage.length, document.cookie]")).toEqual([
      0,
      0,
      "",
    ]);
    expect(await page.context().storageState()).toEqual({ cookies: [], origins: [] });

    await page.goto(`${url}/docs`);
    await page.reload();
    expect(await tryOut(page, "cancelOrder", "1")).toContain("missing_api_key");
  });

  test("a wrong key shows the body of the 401", async () => {
    const { page } = await open();
    await enterKey(page, "so_test_shop_wrong");
    const answer = await tryOut(page, "cancelOrder", "1");
    expect(answer).toContain("401");
    expect(answer).toContain('"code": "invalid_api_key"');
  });

  test("a narrow window needs no scrolling sideways", async () => {
    const { page, key } = await open({ viewport: { width: 420, height: 800 } });
    await enterKey(page, key);
    await tryOut(page, "getPet", `${MAX}`);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(420);
  });

  test("it is dark where the system is, and changes with it", async () => {
    const { page } = await open({ colorScheme: "dark" });
    const background = () => page.evaluate("getComputedStyle(document.body).backgroundColor");
    expect(await background()).toBe("rgb(28, 32, 34)");
    await page.emulateMedia({ colorScheme: "light" });
    await expect.poll(background).toBe("rgba(0, 0, 0, 0)");
  });

  test("a script that somebody slips in is not run", async () => {
    const { page, complaints } = await open();
    await page.evaluate(`
      const script = document.createElement("script");
      script.textContent = "window.slipped = true";
      document.body.append(script);
    `);
    expect(await page.evaluate("window.slipped")).toBeUndefined();
    expect(complaints.join()).toContain("Content Security Policy");
  });
});
