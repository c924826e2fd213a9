import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { expectAccessible, expectFits, LOOKS } from "./accessibility.ts";
import { describeInBrowser, runsInlineScript, tabTo } from "./browser.ts";
import { apply, issueKey, openConsole } from "./console-fixture.ts";

const MAX = 2n ** 63n - 1n;
/** The field at the top of every page. */
const SEARCH = ".search [type=search]";
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
      for (const path of ["accounts", "accounts/acme", "orders?sort=lowest", `orders/${-MAX}`, ...others]) {
        await page.goto(at(path));
        await expectAccessible(page, path);
        for (const opener of (await page.locator("button[data-opens]:visible").all()).slice(0, 3)) {
          await opener.click();
          await expectAccessible(page, `${path}, with its dialog`);
          await page.keyboard.press("Escape");
        }
      }
      await page.goto(at("accounts/acme"));
      await issueKey(page);
      await expectAccessible(page, "a new key");
      await page.goto(at("orders"));
      await page.fill(SEARCH, "so_live_acme_abc");
      await page.press(SEARCH, "Enter");
      await page.waitForSelector("#result >> text=Not found.");
      await expectAccessible(page, "a search that found nothing");
      await page.goto(at("accounts"));
      await page.click("[data-opens=create]");
      await page.fill("#create-accountId", "globex");
      await page.selectOption("#create-plan", "enterprise");
      await page.fill("#create-perMinute", "-1");
      await page.fill("#create-perDay", "many");
      await page.click("button:text-is('Create account')");
      await page.waitForSelector("#create-perDay-error");
      await expectAccessible(page, "errors at the fields");
      expect(await page.evaluate("document.activeElement.id"), "the first wrong field").toBe(
        "create-perMinute",
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
      for (const path of ["accounts", "accounts/acme", "orders?status=pending&sort=lowest", "orders/61"]) {
        await page.goto(at(path));
        await expectFits(page, path);
        for (const opener of (await page.locator("button[data-opens]:visible").all()).slice(-2)) {
          await opener.click();
          // Each is scrolled to, and nothing else receives its click.
          const controls = page.locator("dialog[open] :is(button, select, input):visible");
          for (const control of await controls.all()) await control.click({ trial: true });
          await page.keyboard.press("Escape");
        }
      }
      await page.goto(at("accounts/acme"));
      await issueKey(page);
      await expectFits(page, "a new key");
      await page.locator("text=Copy key").click({ trial: true });
    },
  );

  test("a failure is visible in the dialog of its form, at its field or above the buttons, until the next attempt", async () => {
    const { page, at, accounts, store } = await openFilled({ viewport: { width: 390, height: 500 } });
    /** What is shown in the open dialog, where nothing covers it. */
    const shown = async (selector: string, text: string) => {
      const error = page.locator(`dialog[open] ${selector}`);
      await expect.poll(() => error.allInnerTexts()).toEqual([expect.stringContaining(text)]);
      const { x, y } = (await error.boundingBox()) ?? expect.fail();
      const top = `document.elementFromPoint(${x + 2}, ${y + 2})?.textContent`;
      expect(await page.evaluate(top)).toContain(text);
      await expectAccessible(page, text);
    };
    await page.click("[data-opens=create]");
    await page.fill("#create-accountId", "acme");
    await page.click("button:text-is('Create account')");
    await shown("#create-accountId-error", "An account with this identifier already exists.");
    await page.goto(at("accounts/acme"));
    await page.click("[data-opens=keys-dialog]");
    await page.fill("#issue-expiresAt", "2001-01-01");
    await page.click("button:text-is('Issue key')");
    await shown("#issue-expiresAt-error", "Give a time in the future.");

    for (let count = 1; count < 20; count++) await accounts.issueKey("acme");
    await page.goto(at("accounts/acme"));
    await page.click("[data-opens=keys-dialog]");
    await page.click("button:text-is('Issue key')");
    await shown("[role=alert]", "The account already has 20 active keys.");
    // The page asks for itself meanwhile.
    await sleep(2_000);
    await page.route("**/keys", (route) => route.abort());
    await page.click("button:text-is('Issue key')");
    await shown("[role=alert]", "Outcome unknown. There was no answer.");
    await page.unroute("**/keys");
    const [key] = (await store.accounts.find("acme"))?.keys ?? [];
    await accounts.revokeKey(key?.id ?? "");
    await page.click("button:text-is('Issue key')");
    await page.waitForSelector("#issued-key");
    expect(await page.locator("main [role=alert]").count()).toBe(0);

    await page.route("**/ship", (route) => route.abort());
    await page.goto(at("orders/2"));
    await page.click("[data-opens^=ship]");
    await page.click("button:text-is('Ship order')");
    await sleep(2_000);
    await shown("[role=alert]", "Outcome unknown. There was no answer.");
    expect((await store.orders.find(2n))?.status).toBe("pending");
  });

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
      fetch("${at("accounts/acme/delete")}", { method: "POST", mode: "no-cors", credentials: "include", body: new URLSearchParams({ accountId: "acme" }) }),
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
    await page.fill(SEARCH, HTML);
    await page.click("button:text-is('Search')");
    await page.waitForSelector("#result >> text=Not found. <img");
    expect(await page.inputValue(SEARCH)).toContain("<img");
    await store.orders.place([{ record: { id: 99n, shipDate: HTML }, status: "pending" }]);
    await page.waitForSelector("#order-99");
    expect(await page.innerText("#order-99")).toContain(HTML);
    expect(await page.locator("main img").count()).toBe(0);
    expect(faults).toEqual([]);
    expect(await runsInlineScript(page)).toBe(false);
    expect(faults.join()).toContain("Content Security Policy");
  });

  test("a pasted key is found from any page, and is in no address, history, request line or page", async () => {
    const { page, at, store } = await openFilled();
    await page.goto(at("accounts/acme"));
    await issueKey(page);
    const key = await page.innerText("#issued-key");
    const { keys = [] } = (await store.accounts.find("acme")) ?? {};
    const { id = "" } = keys[1] ?? {};
    const addresses: string[] = [];
    page.on("request", (request) => addresses.push(`${request.url()} ${JSON.stringify(request.headers())}`));
    for (const path of ["orders", "accounts", "orders/1"]) {
      await page.goto(at(path));
      await page.fill(SEARCH, `Authorization: Bearer ${key}`);
      await page.press(SEARCH, "Enter");
      await page.waitForSelector("#result >> text=The key is acme.");
      expect(page.url()).toBe(at(`accounts/acme#key-${id}`));
      expect(await page.getAttribute("nav a:text-is('Accounts')", "aria-current")).toBe("page");
      expect(await page.inputValue(SEARCH)).toBe("");
      await Promise.all([page.waitForEvent("load"), page.goBack()]);
      expect(page.url()).toBe(at(path));
      expect(await page.content()).not.toContain(key);
      await page.fill(SEARCH, "nobody");
      await page.click("button:text-is('Search')");
      await page.waitForSelector("#result >> text=Not found. There is no account nobody.");
      // The page stays through its updates, with its section and what was typed.
      await page.waitForTimeout(2_000);
      expect([page.url(), await page.inputValue(SEARCH)]).toEqual([at(path), "nobody"]);
      expect(await page.locator(".top [aria-current=page]").count()).toBe(1);
    }
    expect(addresses.length).toBeGreaterThan(10);
    expect(addresses.join()).not.toContain(key.slice(13));
  });

  test("each account and each order is one line, however long its values are; a narrow window shows the least of it, and whole IDs", async () => {
    for (const width of [1280, 390]) {
      const { page, at, store, accounts } = await openFilled({ viewport: { width, height: 844 } });
      await accounts.create("a".repeat(32), {
        plan: "enterprise",
        customLimits: { perMinute: 60_000, perDay: 9_000_000 },
      });
      const shipDate = "2026-12-01T09:00:00.123456789+01:00";
      const record = { id: -MAX, petId: -MAX, quantity: 2_147_483_647, shipDate };
      await store.orders.place([{ record, status: "pending" }]);
      for (const path of ["accounts", "orders?sort=lowest"]) {
        await page.goto(at(path));
        const heights = await page.evaluate(
          "[...document.querySelectorAll('tbody tr')].map((row) => row.clientHeight)",
        );
        const isWrapped = path === "accounts" && width === 390;
        expect(Math.max(...(heights as number[])), `${path}, ${width}`).toBeLessThan(isWrapped ? 80 : 46);
        await expectFits(page, path);
      }
      const row = (await page.innerText(`[id="order-${-MAX}"]`)).split(/\s*\t\s*/);
      expect(row.slice(0, 3)).toEqual([`${-MAX}`, "pending", "just now"]);
      expect(row.slice(3)).toEqual(
        width === 390 ? [] : [`${-MAX}`, "2147483647", "2026-12-01", expect.stringContaining("Ship")],
      );
      expect(await page.getAttribute("time", "title")).toMatch(/^20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC$/);
    }
  });

  test.each([390, 800, 1280])(
    "account IDs and key IDs that differ at their ends are shown whole (%d pixels)",
    async (width) => {
      const { page, at, accounts } = await openFilled({ viewport: { width, height: 844 } });
      const id = "a-customer-with-a-long-name-0001";
      await accounts.create(id, { plan: "free" });
      await accounts.issueKey(id, { name: "n".repeat(64) });
      for (const path of ["accounts", `accounts/${id}`]) {
        await page.goto(at(path));
        const cut =
          "(cell) => cell.scrollWidth > cell.clientWidth || getComputedStyle(cell).overflow !== 'visible'";
        const ids = `[...document.querySelectorAll("tbody th")]`;
        expect(await page.evaluate(`${ids}.filter(${cut}).map(({ innerText }) => innerText)`), path).toEqual(
          [],
        );
        await expectFits(page, path);
      }
    },
  );

  test("the row of a key that was found is marked and in view", async () => {
    const { page, at, accounts, store } = await openFilled({ viewport: { width: 390, height: 600 } });
    for (let count = 1; count < 20; count++) await accounts.issueKey("acme");
    const key = (await store.accounts.find("acme"))?.keys.at(-1)?.id ?? expect.fail();
    const expectMarked = async () => {
      await page.waitForURL(at(`accounts/acme#key-${key}`));
      const row = page.locator("tr:target");
      expect(await row.getAttribute("id")).toBe(`key-${key}`);
      const { y = -1, height = 0 } = (await row.boundingBox()) ?? {};
      expect([y > 0, y + height < 600]).toEqual([true, true]);
    };
    await page.fill(SEARCH, key);
    await page.press(SEARCH, "Enter");
    await expectMarked();
    // The page asks for itself meanwhile.
    await sleep(2_000);
    await expectMarked();
  });

  test("in a narrow window, all of a row opens its page, whose actions are large, and which leads back", async () => {
    const { page, at, store } = await openFilled({ viewport: { width: 390, height: 844 } });
    await page.goto(at("orders?status=pending&sort=lowest"));
    expect(await page.locator("tbody button:visible").count()).toBe(0);
    const { y = 0, height = 0 } = (await page.locator("#order-3").boundingBox()) ?? {};
    expect(height).toBeGreaterThanOrEqual(40);
    await page.mouse.click(365, y + height - 3);
    await page.waitForSelector("h1:text-is('Order 3')");
    const button = await page.locator("[data-opens=ship-3]").boundingBox();
    expect(button?.height).toBeGreaterThanOrEqual(40);
    await apply(page, "ship", 3);
    await page.waitForSelector("text=Order 3 has been shipped.");
    await page.click("text=Back to the list");
    await page.waitForURL(at("orders?status=pending&sort=lowest"));
    expect(await store.orders.find(3n)).toMatchObject({ status: "shipped" });
  });

  test("when the console stops, the page says so and keeps what it shows", async () => {
    const { page, close } = await openFilled();
    await close();
    await page.waitForSelector("text=The console has stopped");
    expect(await page.isVisible("h1:text-is('Accounts')")).toBe(true);
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
    await press("button[data-opens^=revoke]");
    await press("form[action$=revoke] button");
    await page.waitForSelector("text=has been revoked");
    expect((await store.accounts.find("acme"))?.keys[0]?.revokedAt).toBeDefined();
    expect(await page.evaluate("document.activeElement.id")).toBe("result");
    await press("button[data-opens=delete-dialog]");
    await page.keyboard.press("Tab");
    await page.keyboard.type("acme");
    await page.keyboard.press("Enter");
    await page.waitForSelector("text=The account acme has been deleted.");
    expect(await store.accounts.find("acme")).toBeUndefined();
  });

  test("an open dialog keeps the focus through updates, and returns it to its button", async () => {
    const { page, at, store } = await openFilled();
    await page.goto(at("orders/3"));
    await page.focus("[data-opens=ship-3]");
    await page.keyboard.press("Enter");
    await sleep(2_000);
    for (let presses = 0; presses < 8; presses++) {
      await page.keyboard.press("Tab");
      // The body stands for the browser's own controls, which come after the last button.
      const focused = "document.activeElement.closest('dialog')?.id ?? document.activeElement.localName";
      expect(["ship-3", "body"]).toContain(await page.evaluate(focused));
    }
    await page.keyboard.press("Escape");
    expect(await page.evaluate("document.activeElement.dataset.opens")).toBe("ship-3");
    await page.keyboard.press("Enter");
    await page.mouse.click(5, 5);
    await page.waitForSelector("#ship-3", { state: "hidden" });
    expect((await store.orders.find(3n))?.status).toBe("pending");
  });

  test("a dialog stays open when somebody else has made its change impossible, and says why it fails", async () => {
    const { page, at, orders, store } = await openFilled();
    for (const [path, id] of [
      ["orders/4", 4n],
      ["orders?status=pending&sort=lowest", 5n],
    ] as const) {
      await page.goto(at(path));
      await page.click(`[data-opens=cancel-${id}]`);
      await orders.ship(id);
      await sleep(4_000);
      await page.click("dialog[open] button:text-is('Cancel order')");
      await page.waitForSelector(`dialog[open] [role=alert] >> text=${id}:`);
      await page.keyboard.press("Escape");
      await page.waitForSelector(`#cancel-${id}`, { state: "detached" });
      expect((await store.orders.find(id))?.status).toBe("shipped");
    }
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
    await page.click("a:text-is('Lowest ID first')");
    await page.waitForURL(/status=pending&sort=lowest$/);
    expect(await rows()).toEqual(pending.slice(0, 50));

    const button = await page.locator("tbody tr:nth-child(3) [data-opens^=ship]").boundingBox();
    if (button === null) throw new Error("There is no button.");
    for (const id of pending.slice(2, 5)) {
      await page.mouse.click(button.x + 5, button.y + 5);
      await page.click("dialog[open] button:text-is('Ship order')");
      await page.waitForSelector(`text=Order ${id} has been shipped.`);
      // A slower press than a double click.
      await page.waitForTimeout(600);
    }
    expect(await rows()).toEqual(pending.filter((_, index) => index < 2 || index > 4).slice(0, 50));

    await page.focus("tbody tr:nth-child(2) [data-opens^=ship]");
    for (const id of [pending[1], pending[5]]) {
      for (const key of ["Enter", "Tab", "Enter"]) await page.keyboard.press(key);
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
    await page.waitForURL(/sort=lowest$/);
    expect((await rows())[0]).toBe(pending[0]);
    expect(faults).toEqual([]);
  });
});
