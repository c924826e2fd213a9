import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { useEmulator } from "../support/dynamodb/use-emulator.ts";
import { findViolations } from "./accessibility.ts";
import { describeInBrowser } from "./browser.ts";
import { openConsole, openTestStore, STORES } from "./console-fixture.ts";

const MAX = 9223372036854775807n;

describeInBrowser("orders in the console", (browser) => {
  const emulator = useEmulator();
  test.each(STORES)("%s: an order is placed, found by its ID, shipped and fulfilled", async (kind) => {
    const store = await openTestStore(kind, emulator);
    const { page, at, faults } = await openConsole(browser(), store, { isMetered: kind === "DynamoDB" });
    await page.click("a:text-is('Orders')");
    await page.fill("#place-id", `${MAX}`);
    await page.fill("#place-petId", "9007199254740993");
    await page.fill("#place-quantity", "3");
    await page.fill("#place-shipDate", "2026-12-01T09:00:00+01:00");
    await page.selectOption("#place-complete", "false");
    await page.click("button:text-is('Place order')");
    await page.waitForSelector("text=has been placed");
    expect(await store.orders.find(MAX)).toMatchObject({
      status: "pending",
      record: {
        ...{ id: MAX, petId: 9007199254740993n, quantity: 3, complete: false },
        shipDate: "2026-12-01T09:00:00+01:00",
      },
    });

    await page.fill("#find-id", `${MAX}`);
    await page.click("button:text-is('Find')");
    await page.waitForURL(at(`orders/${MAX}`));
    expect(await page.innerText("main")).toContain("9007199254740993");
    expect(await page.isDisabled("button:text-is('Fulfil')")).toBe(true);
    expect(await page.innerText(".events")).toContain("only shipped orders accept 'fulfil'");
    await page.click("button:text-is('Ship')");
    await page.waitForSelector(`text=Order ${MAX} has been shipped.`);
    await page.click("button:text-is('Fulfil')");
    await page.waitForSelector(`text=Order ${MAX} is complete.`);
    expect(await store.orders.find(MAX)).toMatchObject({ status: "shipped", record: { complete: true } });
    expect(faults).toEqual([]);
  });

  test.each(STORES)("%s: if someone else was first, the state machine's reason is shown", async (kind) => {
    const store = await openTestStore(kind, emulator);
    const { page, at, orders } = await openConsole(browser(), store, { isMetered: kind === "DynamoDB" });
    await orders.place({ id: 7n });
    await page.goto(at("orders"));
    await page.route(/orders$/, (route) =>
      route.request().method() === "GET" ? route.abort() : route.continue(),
    );
    await orders.ship(7n);
    await page.click("#order-7 >> text=Cancel");
    await page.click("#cancel-7 >> text='Cancel order'");
    await page.waitForSelector("text=The order is shipped; only pending orders accept 'cancel'.");
    expect((await store.orders.find(7n))?.status).toBe("shipped");
  });

  test("invalid fields of an order are named, and nothing is placed", async () => {
    const store = await openTestStore("SQLite", emulator);
    const { page, at } = await openConsole(browser(), store);
    await page.goto(at("orders"));
    await page.fill("#place-id", "9223372036854775808");
    await page.fill("#place-quantity", "-1");
    await page.fill("#place-shipDate", "soon");
    await page.click("button:text-is('Place order')");
    for (const name of ["id", "quantity", "shipDate"]) await page.waitForSelector(`#place-${name}-error`);
    expect(await page.inputValue("#place-shipDate")).toBe("soon");
    expect(await findViolations(page)).toEqual([]);
    await page.fill("#find-id", "1e3");
    await page.click("button:text-is('Find')");
    await page.waitForSelector("#find-id-error");
    expect(await page.innerText("main")).toContain("There are no orders.");
  });

  test("the table pages through all orders, and the counts follow changes by others", async () => {
    const store = await openTestStore("SQLite", emulator);
    const { page, at, orders } = await openConsole(browser(), store);
    const all = Array.from({ length: 120 }, (_, index) => BigInt(index) - 10n);
    await store.orders.place(all.map((id) => ({ record: { id }, status: "pending" as const })));
    await page.goto(at("orders"));
    const seen: string[] = [];
    for (;;) {
      seen.push(...(await page.locator("tbody th").allInnerTexts()));
      const next = page.locator("a:text-is('Next page')");
      if ((await next.count()) === 0) break;
      await Promise.all([page.waitForNavigation(), next.click()]);
    }
    expect(seen).toEqual(all.toReversed().map(String));
    await page.click("a:text-is('Previous page')");
    await page.waitForSelector("#order-40");
    expect(await findViolations(page)).toEqual([]);
    await page.click("a:text-is('First page')");
    await page.waitForSelector("#order-109");
    expect(await page.locator(".counts dd").allInnerTexts()).toEqual(["120", "120", "0", "0"]);
    await orders.cancel(103n);
    await page.waitForSelector("#order-103 >> text=cancelled", { timeout: 2_000 });
    await expect.poll(() => page.locator(".counts dd").allInnerTexts()).toEqual(["120", "119", "0", "1"]);
  });

  test.each(STORES)("%s: orders that others place or change appear within two seconds", async (kind) => {
    const store = await openTestStore(kind, emulator);
    const { page, at, orders } = await openConsole(browser(), store, { isMetered: kind === "DynamoDB" });
    await orders.place({ id: 1n });
    await page.goto(at("orders"));
    // In this order: an update between the two shows the first change.
    await orders.ship(1n);
    await orders.place({ id: 2n });
    await page.waitForSelector("#order-2 >> text=pending", { timeout: 2_000 });
    await page.waitForSelector("#order-1 >> text=shipped", { timeout: 1_000 });
    await page.goto(at("orders/2"));
    await orders.cancel(2n);
    await page.waitForSelector("dd >> text=cancelled", { timeout: 2_000 });
    expect(await page.isDisabled("button:text-is('Ship')")).toBe(true);
  });

  test.each(STORES)("%s: a cancel asks for confirmation, by keyboard, and can be left", async (kind) => {
    const store = await openTestStore(kind, emulator);
    const { page, at, orders } = await openConsole(browser(), store, { isMetered: kind === "DynamoDB" });
    await orders.place({ id: -7n });
    await page.goto(at("orders"));
    const open = page.locator("#order--7 button[popovertarget]");
    await open.focus();
    await page.keyboard.press("Enter");
    await page.waitForSelector("#cancel--7:popover-open");
    // The page asks for itself meanwhile; the dialog stays.
    await sleep(2_000);
    expect(await page.isVisible("#cancel--7:popover-open")).toBe(true);
    await page.keyboard.press("Escape");
    expect(await page.isVisible("#cancel--7")).toBe(false);
    expect((await store.orders.find(-7n))?.status).toBe("pending");
    await open.focus();
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.waitForSelector("text=Order -7 has been cancelled.");
    expect((await store.orders.find(-7n))?.status).toBe("cancelled");
  });

  test("on DynamoDB, orders are counted on request only, and what it costs is shown before", async () => {
    const store = await openTestStore("DynamoDB", emulator);
    const { page, at, orders } = await openConsole(browser(), store, { isMetered: true });
    await orders.place({ id: 1n });
    await page.goto(at("orders"));
    await sleep(2_000);
    expect(await page.locator(".counts dd").allInnerTexts()).toEqual(["–", "–", "–", "–"]);
    expect(await page.innerText("main")).toContain("at most 62,500 read units for a million orders");
    expect(await findViolations(page)).toEqual([]);
    await page.click("text=Count now");
    // On a busy machine, the count ends after the response.
    await page.waitForSelector("text=/Every order has been counted.|The count has started./");
    await expect.poll(() => page.locator(".counts dd").allInnerTexts()).toEqual(["1", "1", "0", "0"]);
    expect(await page.innerText("main")).toMatch(/Counted at \d\d:\d\d:\d\d UTC/);
  });

  test.each(STORES)(
    "%s: a queue is worked off in one place, with the pointer and with the keyboard",
    async (kind) => {
      const store = await openTestStore(kind, emulator);
      const { page, at, faults } = await openConsole(browser(), store, { isMetered: kind === "DynamoDB" });
      const ids = Array.from({ length: 70 }, (_, index) => BigInt(index));
      await store.orders.place(
        ids.map((id) => ({ record: { id }, status: id % 7n === 0n ? "cancelled" : "pending" })),
      );
      const pending = ids.filter((id) => id % 7n !== 0n).map(String);
      const rows = () => page.locator("tbody th").allInnerTexts();
      await page.goto(at("orders"));
      await page.click(".counts a:text-is('pending')");
      await page.click("a:text-is('Oldest first')");
      await page.waitForURL(/status=pending&sort=oldest$/);
      expect(await rows()).toEqual(pending.slice(0, 50));

      const button = await page.locator("tbody tr:nth-child(3) form[action$=ship] button").boundingBox();
      if (button === null) throw new Error("There is no button.");
      for (const id of pending.slice(2, 5)) {
        await page.mouse.click(button.x + 5, button.y + 5);
        await page.waitForSelector(`text=Order ${id} has been shipped.`);
        // A slower press than a double click.
        await page.waitForTimeout(600);
      }
      expect(await rows()).toEqual(pending.filter((_, index) => index < 2 || index > 4).slice(0, 50));

      await page.focus("tbody tr:nth-child(2) form[action$=ship] button");
      for (const id of [pending[1], pending[5]]) {
        await page.keyboard.press("Enter");
        await page.waitForSelector(`text=Order ${id} has been shipped.`);
        const focused = "document.activeElement.closest('tr').querySelector('th').innerText";
        await expect.poll(() => page.evaluate(focused)).toBe(id === pending[1] ? pending[5] : pending[6]);
      }
      expect(
        (await store.orders.page({ status: "shipped", limit: 50 })).orders.map(
          ({ record }) => `${record.id}`,
        ),
      ).toEqual(pending.slice(1, 6));
      await page.goBack();
      await page.waitForURL(/orders\?status=pending$/);
      await page.waitForSelector("h2:text-is('Pending orders')");
      expect((await rows())[0]).toBe("69");
      await page.goForward();
      await page.waitForURL(/sort=oldest$/);
      expect((await rows())[0]).toBe(pending[0]);
      expect(faults).toEqual([]);
    },
  );
});
