import { expect, test } from "vitest";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { expectAccessible, LOOKS } from "./accessibility.ts";
import { describeInBrowser } from "./browser.ts";
import { openConsole } from "./console-fixture.ts";

const MAX = 2n ** 63n - 1n;
const HTML = `<img src=x onerror="document.title = 'hacked'">`;

describeInBrowser("orders for everyone", (browser) => {
  test.each(LOOKS)(
    "axe finds nothing in dialogs, errors and the longest values (%s, %d pixels)",
    async (colorScheme, width) => {
      const viewport = { width, height: 844 };
      const options = { colorScheme, viewport, isMetered: true };
      const { page, at, store } = await openConsole(browser(), createMemoryStore(), options);
      const shipDate = "2026-12-01T09:00:00.123456789+01:00";
      const record = { id: -MAX, petId: MAX, quantity: 2_147_483_647, shipDate, complete: false };
      await store.orders.place([{ record, status: "pending" }]);
      const expectGood = (state: string) => expectAccessible(page, state);
      for (const path of ["orders", `orders/${-MAX}`]) {
        await page.goto(at(path));
        await expectGood(path);
        await page.click("button[popovertarget]");
        await expectGood(`${path}, with its dialog`);
      }
      await page.goto(at("orders?after=x"));
      await expectGood("a wrong address");
      await page.fill("#place-quantity", "-1");
      await page.fill("#place-shipDate", "soon");
      await page.click("button:text-is('Place order')");
      await page.waitForSelector("#place-quantity-error");
      await expectGood("errors at the fields");
      expect(await page.evaluate("document.activeElement.id"), "the first wrong field has the focus").toBe(
        "place-quantity",
      );
    },
  );

  test("HTML that a store returns is text, also after it was merged into the page", async () => {
    const { page, at, store, faults } = await openConsole(browser(), createMemoryStore());
    await page.goto(at("orders"));
    await store.orders.place([{ record: { id: 1n, shipDate: HTML }, status: "pending" }]);
    await page.waitForSelector("#order-1");
    expect(await page.innerText("#order-1")).toContain(HTML);
    await page.goto(at("orders/1"));
    expect(await page.innerText("main")).toContain(HTML);
    expect(await page.locator("main img").count()).toBe(0);
    expect(faults).toEqual([]);
  });

  test("with the keyboard alone, an order is placed, found, shipped and fulfilled", async () => {
    const { page, at, store } = await openConsole(browser(), createMemoryStore());
    const reach = async (selector: string) => {
      for (let presses = 0; presses < 60; presses++) {
        if (await page.evaluate(`document.activeElement.matches(${JSON.stringify(selector)})`)) return;
        await page.keyboard.press("Tab");
      }
      throw new Error(`${selector} cannot be reached with the Tab key.`);
    };
    await page.goto(at("orders"));
    await reach("#place-id");
    await page.keyboard.type("12");
    await page.keyboard.press("Enter");
    await page.waitForSelector("text=has been placed");
    expect(await page.evaluate("document.activeElement.id"), "for the next order").toBe("place-id");
    await page.goto(at("orders"));
    await reach("#find-id");
    await page.keyboard.type("12");
    await page.keyboard.press("Enter");
    await page.waitForURL(at("orders/12"));
    for (const event of ["ship", "fulfil"]) {
      await reach(`form[action$=${event}] button`);
      await page.keyboard.press("Enter");
      await page.waitForSelector(`text=Order 12 ${event === "ship" ? "has been shipped" : "is complete"}.`);
    }
    expect(await store.orders.find(12n)).toMatchObject({ status: "shipped", record: { complete: true } });
  });
});
