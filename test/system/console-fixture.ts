import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { onTestFinished } from "vitest";
import { createAccounts } from "../../lib/accounts/accounts.ts";
import type { ConsoleOptions } from "../../lib/console/server.ts";
import { createOrders } from "../../lib/orders/orders.ts";
import type { Store } from "../../lib/stores/store.ts";
import { useConsole } from "../support/console.ts";

/** Presses the button of an event, which asks, and then the one that confirms it. */
export async function apply(page: Page, event: string, id: bigint | number): Promise<void> {
  await page.click(`[data-opens="${event}-${id}"]`);
  await page.click(`[id="${event}-${id}"] form button:not([type])`);
}

/** Issues a key on the page of an account, which shows it once. */
export async function issueKey(page: Page): Promise<void> {
  await page.click("[data-opens=keys-dialog]");
  await page.click("button:text-is('Issue key')");
  await page.waitForSelector("#issued-key");
}

/** Opens the console's link in a browser, and waits for the first page. */
export async function openConsole(
  browser: Browser,
  store: Store,
  { isMetered = false, domains, ...options }: BrowserContextOptions & Partial<ConsoleOptions> = {},
) {
  const fixture = await useConsole({ store, isMetered, ...(domains && { domains }) });
  const permissions = ["clipboard-read", "clipboard-write"];
  const context = await browser.newContext({ permissions, ...options });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  /** What the page did wrong: script errors, blocked content, and requests to other hosts. */
  const faults: string[] = [];
  page.on("pageerror", ({ message }) => faults.push(message));
  page.on("console", (message) => {
    // Chromium also writes a line for each response that is an error.
    if (message.type() === "error" && !message.text().startsWith("Failed to load"))
      faults.push(message.text());
  });
  page.on("request", (request) => {
    const { protocol, origin } = new URL(request.url());
    if (protocol !== "data:" && origin !== fixture.origin) faults.push(request.url());
  });
  await page.goto(fixture.link);
  await page.waitForSelector("h1:text-is('Accounts')");
  const accounts = createAccounts({ store: store.accounts, environment: "test" });
  const orders = createOrders({ store: store.orders });
  return { ...fixture, page, accounts, orders, faults };
}
