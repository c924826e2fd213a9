import type { Browser } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { OPERATIONS } from "../../lib/http/operations.ts";
import { V2_PREVIEW_OPERATIONS } from "../../lib/http/v2-preview.ts";
import { docsPage } from "../../lib/node/docs/docs-page.ts";
import { startNodeServer } from "../../lib/node/server.ts";
import { createHandlerFixture, MAX } from "../http/fixture.ts";
import { findViolations } from "./accessibility.ts";
import { describeInBrowser, runsInlineScript } from "./browser.ts";
import { enterKey, tryOut } from "./docs-page-fixture.ts";

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

  test("the page loads without console errors and without requests to other hosts", async () => {
    const { page, consoleErrors, externalRequests } = await open();
    await page.waitForLoadState("networkidle");
    expect(consoleErrors).toEqual([]);
    expect(externalRequests).toEqual([]);
  });

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

  test.each([
    ["light", 390],
    ["dark", 1280],
  ] as const)(
    "axe finds nothing in the page, its operations and its key dialog (%s, %d pixels)",
    async (colorScheme, width) => {
      // A button that is changing its color has another contrast for a moment.
      const reducedMotion = "reduce";
      const { page } = await open({ colorScheme, reducedMotion, viewport: { width, height: 844 } });
      expect(await findViolations(page)).toEqual([]);
      await page.click("[id$=cancelOrder] .opblock-summary-control");
      await page.click("[id$=cancelOrder] .try-out__btn");
      await page.fill("[id$=cancelOrder] .parameters input", "1");
      await page.click("[id$=cancelOrder] .execute");
      await page.waitForSelector(".live-responses-table");
      expect(await findViolations(page)).toEqual([]);
      await page.click("button.authorize");
      expect(await findViolations(page)).toEqual([]);
    },
  );

  test("operations come before the text, with their tags and paths", async () => {
    const { page } = await open();
    const text = await page.innerText("body");
    const parts = [
      "Operations",
      "The orders of",
      "/store/orders",
      "/pets/{petId}",
      "Keys",
      "Limits",
      "Errors",
    ];
    const places = parts.map((part) => text.indexOf(part));
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(places).not.toContain(-1);
  });

  test("with the keyboard alone, a key is entered into a password field and an operation is called", async () => {
    const { page, key } = await open();
    const tabTo = async (selector: string) => {
      for (let presses = 0; presses < 60; presses++) {
        if (await page.evaluate(`document.activeElement.matches(${JSON.stringify(selector)})`)) return;
        await page.keyboard.press("Tab");
      }
      throw new Error(`${selector} cannot be reached with the Tab key.`);
    };
    await tabTo("button.authorize");
    await page.keyboard.press("Enter");
    await tabTo(".auth-container input");
    expect(await page.getAttribute(".auth-container input", "type")).toBe("password");
    await page.keyboard.type(key);
    await page.keyboard.press("Enter");
    await tabTo(".btn-done");
    await page.keyboard.press("Enter");
    await tabTo("[id$=cancelOrder] .opblock-summary-control");
    await page.keyboard.press("Enter");
    await tabTo(".try-out__btn");
    await page.keyboard.press("Enter");
    await tabTo(".parameters input");
    await page.keyboard.type("404");
    await tabTo(".execute");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".live-responses-table");
    expect(await page.innerText(".live-responses-table")).toContain("order_not_found");
  });

  test("the page shows badges for deprecated and beta operations", async () => {
    const { page } = await open();
    expect(await page.locator("[id$=getPet] .badge").innerText()).toBe("deprecated, removed on 2027-06-01");
    expect(await page.locator("[id$=cancelOrder] .badge").innerText()).toBe("beta");
    expect(await page.locator("[id$=listOrders] .badge").innerText()).toBe("beta");
  });

  test("every operation except the list can be tried", async () => {
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

  test("a cancel shows 204 and its headers, and the key is not stored", async () => {
    const { page, key, store, consoleErrors, externalRequests, url } = await open();
    await enterKey(page, key);
    const response = await tryOut(page, "cancelOrder", `${MAX}`);
    expect(response).toContain("204");
    expect(response).toMatch(/x-ratelimit-limit: 60\s+x-ratelimit-remaining: 59\s+x-ratelimit-reset: \d+/);
    expect(await store.orders.find(MAX)).toMatchObject({ status: "cancelled" });

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

  test("after a call, neither the page nor the command to copy shows the key", async () => {
    const { page, key } = await open();
    await enterKey(page, key);
    const response = await tryOut(page, "cancelOrder", `${MAX}`);
    expect(response).toContain("204");
    const command = await page.innerText("[id$=cancelOrder] .curl-command");
    expect(command).toContain("curl -X 'DELETE'");
    expect(command).toContain("-H 'Authorization: Bearer <API_KEY>'");
    expect(await page.content()).not.toContain(key);
  });

  test("an invalid key shows the body of the 401", async () => {
    const { page } = await open();
    await enterKey(page, "so_test_shop_wrong");
    const response = await tryOut(page, "cancelOrder", "1");
    expect(response).toContain("401");
    expect(response).toContain('"code": "invalid_api_key"');
  });

  test("a narrow window needs no horizontal scrolling", async () => {
    const { page, key } = await open({ viewport: { width: 420, height: 800 } });
    await enterKey(page, key);
    await tryOut(page, "getPet", `${MAX}`);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(420);
  });

  test("the color scheme follows the system", async () => {
    const { page } = await open({ colorScheme: "dark" });
    const background = () => page.evaluate("getComputedStyle(document.body).backgroundColor");
    expect(await background()).toBe("rgb(28, 32, 34)");
    await page.emulateMedia({ colorScheme: "light" });
    await expect.poll(background).toBe("rgba(0, 0, 0, 0)");
  });

  test("an injected inline script is blocked", async () => {
    const { page, consoleErrors } = await open();
    expect(await runsInlineScript(page)).toBe(false);
    expect(consoleErrors.join()).toContain("Content Security Policy");
  });
});
