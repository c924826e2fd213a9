import type { Browser, Page } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { OPERATIONS } from "../../lib/http/operations.ts";
import { V2_PREVIEW_OPERATIONS } from "../../lib/http/v2-preview.ts";
import { docsPage } from "../../lib/node/docs/docs-page.ts";
import { startNodeServer } from "../../lib/node/server.ts";
import { createHandlerFixture, MAX } from "../http/fixture.ts";
import { expectAccessible, LOOKS } from "./accessibility.ts";
import { describeInBrowser, runsInlineScript, tabTo } from "./browser.ts";

async function enterKey(page: Page, key: string) {
  await page.click("button.authorize");
  await page.fill(".auth-container input", key);
  await page.click(".auth-btn-wrapper button[type=submit]");
  await page.click(".auth-btn-wrapper .btn-done");
}

/** Calls an operation on the page. Returns what is shown of the response. */
async function tryOut(page: Page, operation: string, argument: string) {
  const block = page.locator(`[id$=${operation}]`);
  await block.locator(".opblock-summary-control").click();
  await block.locator(".try-out__btn").click();
  await block.locator(".parameters input").fill(argument);
  await block.locator(".execute").click();
  const response = block.locator(".live-responses-table");
  await response.waitFor();
  return response.innerText();
}

describeInBrowser("the docs page in a browser", (browser) => {
  /** Opens the page. Records console errors and requests to other hosts. */
  async function open(options: Parameters<Browser["newPage"]>[0] = {}) {
    const operations = OPERATIONS.map((operation) =>
      operation.id === "cancelOrder" ? { ...operation, stability: "beta" as const } : operation,
    );
    const pets = async (id: bigint) => ({ id, name: "Rex" });
    const shop = await createHandlerFixture({
      ...{ documents: docsPage(), pets },
      operations: [...operations, ...V2_PREVIEW_OPERATIONS],
    });
    const server = await startNodeServer({ handler: shop.handler, port: 0 });
    const page = await browser().newPage(options);
    onTestFinished(async () => {
      await page.close();
      await server.close({ graceMs: 0 });
    });
    const consoleErrors: string[] = [];
    const externalRequests: string[] = [];
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) consoleErrors.push(message.text());
    });
    page.on("pageerror", (error) => consoleErrors.push(error.message));
    page.on("request", (request) => {
      const { protocol, origin } = new URL(request.url());
      if (protocol !== "data:" && origin !== server.url) externalRequests.push(request.url());
    });
    await page.goto(`${server.url}/docs`);
    await page.waitForSelector("[id$=getPet]");
    return { ...shop, page, url: server.url, consoleErrors, externalRequests };
  }

  test("an operation of another version is executed there, with its query", async () => {
    const { page, key, url, consoleErrors } = await open();
    await enterKey(page, key);
    const block = page.locator("[id$=pageOrders]");
    await block.locator(".opblock-summary-control").click();
    await block.locator(".try-out__btn").click();
    await block.locator('[data-param-name="limit"] input').fill("1");
    await block.locator(".execute").click();
    await block.locator(".live-responses-table").waitFor();
    expect(await block.locator(".request-url").innerText()).toContain(`${url}/v2/store/orders?limit=1`);
    expect(await block.locator(".live-responses-table").innerText()).toContain('"next"');
    expect(consoleErrors).toEqual([]);
  });

  test.each(LOOKS)(
    "axe finds nothing in the page, its operations and its key dialog, and nothing scrolls sideways (%s, %d pixels)",
    async (colorScheme, width) => {
      // A button that is changing its color has another contrast for a moment.
      const reducedMotion = "reduce";
      const { page } = await open({ colorScheme, reducedMotion, viewport: { width, height: 844 } });
      await expectAccessible(page, "the page");
      await page.click("[id$=cancelOrder] .opblock-summary-control");
      await page.click("[id$=cancelOrder] .try-out__btn");
      await page.fill("[id$=cancelOrder] .parameters input", "1");
      await page.click("[id$=cancelOrder] .execute");
      await page.waitForSelector(".live-responses-table");
      await expectAccessible(page, "a response");
      await page.click("button.authorize");
      await expectAccessible(page, "the key dialog");
    },
  );

  test("the text comes before the operations, with tags and paths, and every one except the list can be tried", async () => {
    const { page, consoleErrors, externalRequests } = await open();
    await page.waitForLoadState("networkidle");
    const text = await page.innerText("body");
    const headings = ["Keys", "Limits", "Errors", "The orders of", "/store/orders", "/pets/{petId}"];
    const places = headings.map((heading) => text.indexOf(heading));
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(places).not.toContain(-1);
    for (const [operation, note, buttons] of [
      ["listOrders", "This operation is beta: it may change.", 0],
      ["cancelOrder", "This operation is beta: it may change.", 1],
      ["getPet", "Deprecated since 2026-06-01. From 2027-06-01 on it returns 410.", 1],
    ] as const) {
      const block = page.locator(`[id$=${operation}]`);
      await block.locator(".opblock-summary-control").click();
      await block.locator(".responses-wrapper").waitFor();
      expect(await block.innerText()).toContain(note);
      expect(await block.locator(".try-out__btn").count(), operation).toBe(buttons);
    }
    expect(consoleErrors).toEqual([]);
    expect(externalRequests).toEqual([]);
    expect(await runsInlineScript(page), "an injected script").toBe(false);
    expect(consoleErrors.join()).toContain("Content Security Policy");
  });

  test("with the keyboard alone, a key is entered into a password field and an operation is called", async () => {
    const { page, key } = await open();
    await tabTo(page, "button.authorize");
    await page.keyboard.press("Enter");
    await tabTo(page, ".auth-container input");
    expect(await page.getAttribute(".auth-container input", "type")).toBe("password");
    await page.keyboard.type(key);
    await page.keyboard.press("Enter");
    await tabTo(page, ".btn-done");
    await page.keyboard.press("Enter");
    await tabTo(page, "[id$=cancelOrder] .opblock-summary-control");
    await page.keyboard.press("Enter");
    await tabTo(page, ".try-out__btn");
    await page.keyboard.press("Enter");
    await tabTo(page, ".parameters input");
    await page.keyboard.type("404");
    await tabTo(page, ".execute");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".live-responses-table");
    expect(await page.innerText(".live-responses-table")).toContain("order_not_found");
  });

  test("a cancel shows 204, its headers and its command, and the key is neither shown nor stored", async () => {
    const { page, key, store, consoleErrors, externalRequests, url } = await open();
    await enterKey(page, key);
    const response = await tryOut(page, "cancelOrder", `${MAX}`);
    expect(response).toContain("204");
    expect(response).toMatch(/x-ratelimit-limit: 60\s+x-ratelimit-remaining: 59\s+x-ratelimit-reset: \d+/);
    expect(await store.orders.find(MAX)).toMatchObject({ status: "cancelled" });
    const command = await page.innerText("[id$=cancelOrder] .curl-command");
    expect(command).toContain("curl -X 'DELETE'");
    expect(command).toContain("-H 'Authorization: Bearer <API_KEY>'");
    expect(await page.content()).not.toContain(key);

    const pet = await tryOut(page, "getPet", `${MAX}`);
    expect(pet).toContain(`"id":${MAX}`);
    expect(pet).toMatch(/sunset: \w/);
    expect(consoleErrors).toEqual([]);
    expect(externalRequests).toEqual([]);
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
});
