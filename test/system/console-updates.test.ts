import { expect, test } from "vitest";
import { StoreUnavailableError } from "../../lib/core/errors.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import type { Store } from "../../lib/stores/store.ts";
import { describeInBrowser } from "./browser.ts";
import { apply, openConsole } from "./console-fixture.ts";

/** A store that can keep one reader of an account waiting, and counts the readers from then on. */
function storeThatWaits() {
  const store = createMemoryStore();
  let holds = false;
  let readers = 0;
  let release: (() => void) | undefined;
  const accounts: Store["accounts"] = {
    ...store.accounts,
    async find(id) {
      const found = await store.accounts.find(id);
      if (holds) readers++;
      if (holds && release === undefined) await new Promise<void>((resolve) => (release = resolve));
      return found;
    },
  };
  return {
    store: { ...store, accounts },
    readers: () => readers,
    hold: () => (holds = true),
    release: () => release?.(),
  };
}

describeInBrowser("updates of the console", (browser) => {
  test("while the store is slow, one update is waiting, and it does not take back a change", async () => {
    const slow = storeThatWaits();
    const { page, at, accounts, store } = await openConsole(browser(), slow.store);
    await accounts.create("acme", { plan: "pro" });
    await page.goto(at("accounts/acme"));
    slow.hold();
    await expect.poll(slow.readers).toBe(1);
    await page.waitForTimeout(4_000);
    expect(slow.readers()).toBe(1);
    await page.click("[data-opens=plan-dialog]");
    await page.selectOption("#plan-plan", "free");
    await page.click("button:text-is('Change plan')");
    await page.waitForSelector("text=The plan is now free.");
    await page.evaluate(`new MutationObserver(() => {
      if (document.querySelector("h1 + p").textContent.includes("pro")) window.isOutOfDate = true;
    }).observe(document.body, { subtree: true, childList: true, characterData: true })`);
    slow.release();
    await page.waitForTimeout(1_000);
    expect(await page.evaluate("window.isOutOfDate")).toBeUndefined();
    await accounts.setPlan("acme", { plan: "pro" });
    await page.waitForSelector("h1 + p:has-text('pro')");
    expect((await store.accounts.find("acme"))?.plan).toBe("pro");
  });

  test("what was typed stays, whatever else changes: a failure, a dismissed message, updates, another form", async () => {
    const { page, at, accounts, faults } = await openConsole(browser(), createMemoryStore());
    await accounts.create("acme", { plan: "free" });
    await page.goto(at("accounts/acme"));
    const open = () => page.click("[data-opens=keys-dialog]");
    await open();
    await page.fill("#issue-name", "scanner");
    await page.fill("#issue-expiresAt", "2001-01-01");
    await page.click("button:text-is('Issue key')");
    await page.waitForSelector("text=Give a time in the future.");
    const typed = async () => [
      await page.inputValue("#issue-name"),
      await page.inputValue("#issue-expiresAt"),
    ];
    expect(await typed()).toEqual(["scanner", "2001-01-01"]);
    await page.keyboard.press("Escape");
    await page.click("text=Dismiss");
    await page.focus("text=All accounts");
    await accounts.setPlan("acme", { plan: "pro" });
    await page.waitForSelector("h1 + p:has-text('pro')");
    expect(await typed()).toEqual(["scanner", "2001-01-01"]);
    await page.click("[data-opens=plan-dialog]");
    await page.selectOption("#plan-plan", "business");
    await page.click("button:text-is('Change plan')");
    await page.waitForSelector("text=The plan is now business.");
    expect(await typed()).toEqual(["scanner", "2001-01-01"]);
    await open();
    await page.fill("#issue-expiresAt", "");
    await page.click("button:text-is('Issue key')");
    await page.waitForSelector("#issued-key");
    expect(await typed()).toEqual(["", ""]);
    const focused = "document.activeElement.getAttribute('data-opens')";
    expect(await page.evaluate(focused), "for the next key").toBe("keys-dialog");
    expect(faults).toEqual([]);
  });

  test("a form without an answer says so after ten seconds, and its message stays", async () => {
    const { page, at, orders } = await openConsole(browser(), createMemoryStore());
    await orders.place({ id: 1n });
    await page.goto(at("orders/1"));
    await page.route(/orders\/1\/ship$/, () => {});
    await apply(page, "ship", 1);
    expect(await page.getAttribute("form[action$=ship]", "aria-busy")).toBe("true");
    await page.waitForSelector("#result >> text=Outcome unknown. There was no answer in 10 seconds.");
    expect(await page.getAttribute("form[action$=ship]", "aria-busy")).toBeNull();
    await page.waitForResponse((response) => response.request().method() === "GET");
    await page.waitForResponse((response) => response.request().method() === "GET");
    expect(await page.isVisible("#result >> text=Outcome unknown.")).toBe(true);
    await page.unroute(/orders\/1\/ship$/);
    await page.click("button:text-is('Ship order')");
    await page.waitForSelector("text=Order 1 has been shipped.");
  });

  test("while a form waits for its answer, another press is sent after it, and one of the same button is not", async () => {
    const { page, at, orders, store } = await openConsole(browser(), createMemoryStore());
    for (const id of [1n, 2n]) await orders.place({ id });
    await page.goto(at("orders"));
    const sent: string[] = [];
    let release: (() => void) | undefined;
    await page.route(/\/ship$/, async (route) => {
      sent.push(new URL(route.request().url()).pathname.split("/").slice(-2).join("/"));
      if (sent.length === 1) await new Promise<void>((resolve) => (release = resolve));
      await route.continue();
    });
    await apply(page, "ship", 1);
    await page.click("#ship-1 >> text=Ship order", { delay: 10 });
    await page.keyboard.press("Escape");
    await apply(page, "ship", 2);
    await expect.poll(() => sent).toEqual(["1/ship"]);
    release?.();
    await page.waitForSelector("text=Order 2 has been shipped.");
    expect(sent).toEqual(["1/ship", "2/ship"]);
    expect((await store.orders.find(1n))?.status).toBe("shipped");
  });

  test("a page that was opened while the store was away shows its content when the store is back", async () => {
    const { orders, accounts, ...rest } = createMemoryStore();
    let isAway = false;
    const find: typeof orders.find = async (id) => {
      if (isAway) throw new StoreUnavailableError("The store does not answer.");
      return orders.find(id);
    };
    const store = { ...rest, accounts, orders: { ...orders, find } };
    const { page, at } = await openConsole(browser(), store);
    await orders.place([{ record: { id: 1n }, status: "pending" }]);
    isAway = true;
    await page.goto(at("orders/1"));
    await page.waitForSelector("h1:text-is('The store cannot be reached')");
    isAway = false;
    await page.waitForSelector("h1:text-is('Order 1')");
    await page.click("[data-opens=ship-1]");
    isAway = true;
    await page.click("button:text-is('Ship order')");
    await page.waitForSelector("#result >> text=Outcome unknown. The store does not answer.");
    isAway = false;
    await page.waitForSelector(".facts >> text=shipped");
    await page.waitForSelector("#problem", { state: "hidden" });
    expect(await page.innerText("#result")).toContain("Outcome unknown.");
  });

  test("the list keeps its place when an order is shipped, and nothing moves under a button that is down", async () => {
    const { page, at, orders } = await openConsole(browser(), createMemoryStore(), {
      viewport: { width: 1280, height: 700 },
    });
    for (let id = 1n; id <= 40n; id++) await orders.place({ id });
    await page.goto(at("orders?sort=lowest"));
    const button = page.locator("[data-opens=ship-20]");
    await button.scrollIntoViewIfNeeded();
    const place = () => page.evaluate("document.querySelector('#order-20').getBoundingClientRect().top");
    const before = await place();
    await apply(page, "ship", 20);
    await page.waitForSelector("text=Order 20 has been shipped.");
    expect(Math.abs(Number(await place()) - Number(before))).toBeLessThan(2);
    expect(await page.locator("#result").boundingBox()).toMatchObject({ y: 8 });
    // Others place orders above while the row is pointed at.
    for (let id = -5n; id < 1n; id++) await orders.place({ id });
    await page.waitForSelector("#order--5", { state: "attached" });
    expect(Math.abs(Number(await place()) - Number(before))).toBeLessThan(2);

    await page.hover("[data-opens=ship-21]");
    await page.mouse.down();
    for (let id = -10n; id < -5n; id++) await orders.place({ id });
    await page.waitForTimeout(3_500);
    expect(await page.locator("#order--10").count()).toBe(0);
    await page.mouse.up();
    await page.waitForSelector("#ship-21[open]");
    await page.waitForSelector("#order--10", { state: "attached" });
  });
});
