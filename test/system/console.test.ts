import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { parseKey } from "../../lib/accounts/hash-key.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { expectAccessible, expectFits, LOOKS } from "./accessibility.ts";
import { describeInBrowser, runsInlineScript, tabTo } from "./browser.ts";
import { openConsole } from "./console-fixture.ts";

const MAX = 2n ** 63n - 1n;
const HTML = `<img src=x onerror="document.title = 'hacked'">`;

describeInBrowser("the console in a browser", (browser) => {
  async function openFilled(options: Parameters<typeof openConsole>[2] = {}) {
    const open = await openConsole(browser(), createMemoryStore(), options);
    await open.accounts.create("acme", { plan: "pro" });
    await open.accounts.issueKey("acme");
    const ids = Array.from({ length: 60 }, (_, index) => BigInt(index + 1));
    await open.store.orders.place(
      ids.map((id) => ({ record: { id, petId: 7n, quantity: 2 }, status: "pending" })),
    );
    await open.orders.ship(1n);
    return open;
  }

  test.each(LOOKS)(
    "axe finds nothing, also in dialogs, errors and the longest values, and nothing scrolls sideways (%s, %d pixels)",
    async (colorScheme, width) => {
      const viewport = { width, height: 844 };
      const { page, at, store } = await openFilled({ colorScheme, viewport, isMetered: true });
      const shipDate = "2026-12-01T09:00:00.123456789+01:00";
      const record = { id: -MAX, petId: MAX, quantity: 2_147_483_647, shipDate, complete: false };
      await store.orders.place([{ record, status: "pending" }]);
      const others = ["accounts/nobody", "orders/1", "orders/99", "orders?after=x", "x"];
      for (const path of ["accounts", "accounts/acme", "orders?sort=oldest", `orders/${-MAX}`, ...others]) {
        await page.goto(at(path));
        await expectAccessible(page, path);
        for (const opener of (await page.locator("button[popovertarget]").all()).slice(0, 3)) {
          await opener.click();
          await expectAccessible(page, `${path}, with its dialog`);
          await page.keyboard.press("Escape");
        }
      }
      await page.goto(at("accounts/acme"));
      await page.click("text=Issue key");
      await page.waitForSelector("#issued-key");
      await expectAccessible(page, "a new key");
      await page.goto(at("orders"));
      await page.fill("#place-quantity", "-1");
      await page.fill("#place-shipDate", "soon");
      await page.click("button:text-is('Place order')");
      await page.waitForSelector("#place-quantity-error");
      await expectAccessible(page, "errors at the fields");
      expect(await page.evaluate("document.activeElement.id"), "the first wrong field").toBe(
        "place-quantity",
      );
    },
  );

  test.each([
    ["150 %", { width: 853, height: 600 }],
    ["200 %", { width: 640, height: 450 }],
    ["400 %", { width: 320, height: 256 }],
  ])(
    "at a zoom of %s, nothing scrolls sideways, and every button of every dialog can be reached",
    async (_zoom, viewport) => {
      const { page, at, store } = await openFilled({ viewport });
      const { outbox = expect.fail() } = store;
      await outbox.switch(true);
      const origin = { by: `${"a".repeat(32)}.${"w".repeat(10)}`, requestId: "d".repeat(36) };
      await store.orders.place([{ record: { id: 61n }, status: "pending" }], 0, origin);
      for (const path of ["accounts", "accounts/acme", "orders?status=pending&sort=oldest", "orders/61"]) {
        await page.goto(at(path));
        await expectFits(page, path);
        for (const opener of (await page.locator("button[popovertarget]").all()).slice(-2)) {
          await opener.click();
          // Each is scrolled to, and nothing else receives its click.
          const controls = page.locator(":popover-open :is(button, select, input:not([type=hidden]))");
          for (const control of await controls.all()) await control.click({ trial: true });
          await page.keyboard.press("Escape");
        }
      }
      await page.goto(at("accounts/acme"));
      await page.click("text=Issue key");
      await page.waitForSelector("#issued-key");
      await expectFits(page, "a new key");
      await page.locator("text=Copy key").click({ trial: true });
    },
  );

  test("the link leads in again, and neither the address, the back button nor the storage has its token", async () => {
    const { page, token, link, at } = await openFilled();
    expect(page.url()).toBe(at("accounts"));
    await page.goBack();
    expect(page.url()).not.toContain(token);
    await page.goto(at("accounts"));
    expect(await page.content()).not.toContain(token);
    const storage = "[localStorage.length, sessionStorage.length, document.cookie]";
    expect(await page.evaluate(storage)).toEqual([0, 0, ""]);
    await page.goto("about:blank");
    await page.goto(link);
    await page.waitForURL(at("accounts"));
    await page.waitForSelector("h1:text-is('Accounts')");
  });

  test("a page of another server on this machine can neither read nor change anything", async () => {
    const { page, at, store, origin } = await openFilled();
    const { origin: foreign } = await openFilled();
    // The second console is a page of the same host on another port, in the browser that has the first one's session.
    await page.route(`${foreign}/attack`, (route) =>
      route.fulfill({ contentType: "text/html", body: "<title>attack</title>" }),
    );
    await page.goto(`${foreign}/attack`);
    const outcome = await page.evaluate(`Promise.allSettled([
      fetch("${at("accounts")}", { credentials: "include" }),
      fetch("${at("accounts/acme/plan")}", { method: "POST", credentials: "include", body: new URLSearchParams({ plan: "free" }) }),
      fetch("${at("accounts/acme/delete")}", { method: "POST", mode: "no-cors", credentials: "include", body: new URLSearchParams({ account: "acme" }) }),
      fetch("${at("accounts/acme/plan")}", { method: "POST", mode: "no-cors", credentials: "include", body: new URLSearchParams({ plan: "free" }) }),
    ]).then((results) => results.map(({ status, value }) => status + (value ? value.type : "")))`);
    expect(outcome).toEqual(["rejected", "rejected", "rejected", "rejected"]);
    expect(origin).not.toBe(foreign);
    expect((await store.accounts.find("acme"))?.plan).toBe("pro");
  });

  test("the scripts are less than 60 KB compressed", async () => {
    const { origin } = await openFilled();
    let size = 0;
    for (const name of ["console.js", "idiomorph.js"])
      size += gzipSync(await (await fetch(new URL(`/${name}`, origin))).bytes()).length;
    expect(size).toBeGreaterThan(4_000);
    expect(size).toBeLessThan(60_000);
  });

  test("HTML of callers and stores is text, also after it was merged into the page, and an injected inline script is blocked", async () => {
    const { page, at, store, faults } = await openFilled();
    await page.goto(at("orders"));
    await page.fill("#find-id", HTML);
    await page.click("button:text-is('Find')");
    await page.waitForSelector("#find-id-error");
    expect(await page.inputValue("#find-id")).toContain("<img");
    await store.orders.place([{ record: { id: 99n, shipDate: HTML }, status: "pending" }]);
    await page.waitForSelector("#order-99");
    expect(await page.innerText("#order-99")).toContain(HTML);
    expect(await page.locator("main img").count()).toBe(0);
    expect(faults).toEqual([]);
    expect(await runsInlineScript(page)).toBe(false);
    expect(faults.join()).toContain("Content Security Policy");
  });

  test("when the console stops, the page says so and keeps what it shows", async () => {
    const { page, close } = await openFilled();
    await close();
    await page.waitForSelector("text=The console has stopped", { timeout: 10_000 });
    expect(await page.isVisible("h1:text-is('Accounts')")).toBe(true);
  });

  test("an account is created, gets a key, which is copied and never shown again, and its use appears within two seconds", async () => {
    const { page, at, store, faults } = await openConsole(browser(), createMemoryStore());
    await page.fill("#create-account", "acme");
    await page.click("text=Create account");
    await page.click("a:text-is('acme')");
    await page.click("text=Issue key");
    const key = await page.innerText("#issued-key");
    expect(key).toMatch(/^so_test_acme_\w{38}$/);
    await page.click("text=Copy key");
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe(key);

    const presented = parseKey(key) ?? expect.fail();
    const admitAndRead = async () => {
      // Each time, because a minute can end in between.
      await store.accounts.admit(presented, Date.now());
      return page.innerText("main");
    };
    await expect.poll(admitAndRead, { timeout: 2_500, interval: 250 }).toMatch(/[1-9]\d* of 60/);
    // Neither the updates nor a reload shows the key again in another response.
    expect(await page.innerText("#issued-key")).toBe(key);
    await page.reload();
    expect(await page.content()).not.toContain(key);
    await page.selectOption("#plan-plan", "pro");
    await page.click("text=Change plan");
    await page.waitForSelector("text=The plan is now pro.");
    expect(page.url()).toBe(at("accounts/acme"));
    expect(faults).toEqual([]);
  });

  test("with the keyboard alone, an account is opened, its key revoked, and the account deleted", async () => {
    const { page, at, store } = await openFilled();
    const press = async (selector: string) => {
      await tabTo(page, selector);
      await page.keyboard.press("Enter");
    };
    await page.goto(at("accounts"));
    await press("tbody a");
    await page.waitForURL(at("accounts/acme"));
    await press("button[popovertarget^=revoke]");
    await press("form[action$=revoke] button");
    await page.waitForSelector("text=has been revoked");
    expect((await store.accounts.find("acme"))?.keys[0]?.revokedAt).toBeDefined();
    expect(await page.evaluate("document.activeElement.id")).toBe("result");
    await press("button[popovertarget=delete-dialog]");
    await page.keyboard.press("Tab");
    await page.keyboard.type("acme");
    await page.keyboard.press("Enter");
    await page.waitForSelector("text=The account acme has been deleted.");
    expect(await store.accounts.find("acme")).toBeUndefined();
  });

  test("with the keyboard alone, an order is placed, found, shipped and fulfilled", async () => {
    const { page, at, store } = await openConsole(browser(), createMemoryStore());
    await page.goto(at("orders"));
    await tabTo(page, "#place-id");
    await page.keyboard.type(`${MAX}`);
    await page.keyboard.press("Enter");
    await page.waitForSelector("text=has been placed");
    expect(await page.evaluate("document.activeElement.id"), "for the next order").toBe("place-id");
    await page.goto(at("orders"));
    await tabTo(page, "#find-id");
    await page.keyboard.type(`${MAX}`);
    await page.keyboard.press("Enter");
    await page.waitForURL(at(`orders/${MAX}`));
    for (const [event, done] of [
      ["ship", "has been shipped"],
      ["fulfil", "is complete"],
    ]) {
      await tabTo(page, `form[action$=${event}] button`);
      await page.keyboard.press("Enter");
      await page.waitForSelector(`text=Order ${MAX} ${done}.`);
    }
    expect(await store.orders.find(MAX)).toMatchObject({ status: "shipped", record: { complete: true } });
  });

  test("a cancel asks for confirmation, by keyboard, and can be left", async () => {
    const { page, at, orders, store } = await openConsole(browser(), createMemoryStore());
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
    for (const key of ["Enter", "Tab", "Enter"]) await page.keyboard.press(key);
    await page.waitForSelector("text=Order -7 has been cancelled.");
    expect((await store.orders.find(-7n))?.status).toBe("cancelled");
  });

  test("a queue is worked off in one place, with the pointer and with the keyboard", async () => {
    const { page, at, store, faults } = await openConsole(browser(), createMemoryStore());
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
    const shipped = await store.orders.page({ status: "shipped", limit: 50 });
    expect(shipped.orders.map(({ record }) => `${record.id}`)).toEqual(pending.slice(1, 6));
    await page.goBack();
    await page.waitForURL(/orders\?status=pending$/);
    await page.waitForSelector("h2:text-is('Pending orders')");
    expect((await rows())[0]).toBe("69");
    await page.goForward();
    await page.waitForURL(/sort=oldest$/);
    expect((await rows())[0]).toBe(pending[0]);
    expect(faults).toEqual([]);
  });
});
