import { gzipSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { expectAccessible, findViolations, LOOKS } from "./accessibility.ts";
import { describeInBrowser, runsInlineScript } from "./browser.ts";
import { openConsole } from "./console-fixture.ts";

describeInBrowser("the console in a browser", (browser) => {
  async function openFilled(options: Parameters<typeof openConsole>[2] = {}) {
    const open = await openConsole(browser(), createMemoryStore(), options);
    await open.accounts.create("acme", { plan: "pro" });
    await open.accounts.issueKey("acme");
    for (let id = 1n; id <= 60n; id++) await open.orders.place({ id, petId: 7n, quantity: 2 });
    await open.orders.ship(1n);
    return open;
  }

  test.each(LOOKS)(
    "axe finds nothing, and nothing scrolls sideways (%s, %d pixels)",
    async (colorScheme, width) => {
      const { page, at } = await openFilled({ colorScheme, viewport: { width, height: 844 } });
      for (const path of [
        "accounts",
        "accounts/acme",
        "accounts/nobody",
        "orders",
        "orders/1",
        "orders/99",
        "x",
      ]) {
        await page.goto(at(path));
        await expectAccessible(page, path);
      }
      await page.goto(at("accounts/acme"));
      for (const dialog of ["Revoke…", "Delete account…"]) {
        await page.click(`text=${dialog}`);
        expect(await findViolations(page), dialog).toEqual([]);
        await page.keyboard.press("Escape");
      }
      await page.click("text=Issue key");
      await page.waitForSelector("#issued-key");
      expect(await findViolations(page)).toEqual([]);
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
        await expectAccessible(page, path);
        for (const opener of await page
          .locator("button[popovertarget]")
          .all()
          .then((all) => all.slice(-2))) {
          await opener.click();
          // Each is scrolled to, and nothing else receives its click.
          for (const control of await page
            .locator(":popover-open :is(button, select, input:not([type=hidden]))")
            .all())
            await control.click({ trial: true });
          await page.keyboard.press("Escape");
        }
      }
      await page.goto(at("accounts/acme"));
      await page.click("text=Issue key");
      await page.waitForSelector("#issued-key");
      await expectAccessible(page, "a new key");
      await page.locator("text=Copy key").click({ trial: true });
    },
  );

  test("after the link was opened, neither the address, the back button nor the storage has its token", async () => {
    const { page, token, at } = await openFilled();
    expect(page.url()).toBe(at("accounts"));
    await page.goBack();
    expect(page.url()).not.toContain(token);
    await page.goto(at("accounts"));
    expect(await page.content()).not.toContain(token);
    expect(await page.evaluate("[localStorage.length, sessionStorage.length, document.cookie]")).toEqual([
      0,
      0,
      "",
    ]);
  });

  test("the link opened again in the same browser leads in", async () => {
    const { page, link, at } = await openFilled();
    await page.goto("about:blank");
    await page.goto(link);
    await page.waitForURL(at("accounts"));
    await page.waitForSelector("h1:text-is('Accounts')");
  });

  test("the link opened in another browser says that it has been used", async () => {
    const { link, at } = await openFilled();
    const other = await browser().newContext();
    onTestFinished(() => other.close());
    const page = await other.newPage();
    await page.goto(link);
    await page.waitForSelector("h1:text-is('This link has been used')");
    expect(await page.innerText("main")).toContain("store-orders console");
    const stolen = await page.goto(at("accounts"));
    expect(stolen?.status()).toBe(401);
    expect(await page.content()).not.toContain("acme");
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

  test("an injected inline script is blocked, and what callers wrote is text", async () => {
    const { page, at, faults } = await openFilled();
    await page.goto(at("orders"));
    await page.fill("#find-id", "<img src=x onerror=\"document.title='hacked'\">");
    await page.click("button:text-is('Find')");
    await page.waitForSelector("#find-id-error");
    expect(await page.inputValue("#find-id")).toContain("<img");
    expect(await page.locator("main img").count()).toBe(0);
    expect(await runsInlineScript(page)).toBe(false);
    expect(faults.join()).toContain("Content Security Policy");
  });

  test("with the keyboard alone, an account is opened, its key revoked, and the account deleted", async () => {
    const { page, at, store } = await openFilled();
    const press = async (selector: string) => {
      for (let presses = 0; presses < 60; presses++) {
        if (await page.evaluate(`document.activeElement.matches(${JSON.stringify(selector)})`))
          return page.keyboard.press("Enter");
        await page.keyboard.press("Tab");
      }
      throw new Error(`${selector} cannot be reached with the Tab key.`);
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

  test("when the console stops, the page says so and keeps what it shows", async () => {
    const { page, close } = await openFilled();
    await close();
    await page.waitForSelector("text=The console has stopped", { timeout: 10_000 });
    expect(await page.isVisible("h1:text-is('Accounts')")).toBe(true);
  });
});
