import { readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { parseKey } from "../support/parse-key.ts";
import { describeInBrowser } from "./browser.ts";
import { FILE, openDomainsConsole } from "./console-domains-fixture.ts";
import { issueKey, openConsole } from "./console-fixture.ts";

describeInBrowser("what the console shows within two seconds", (browser) => {
  test("an account is created, gets a key, which is copied and never shown again, and its use appears within two seconds", async () => {
    const { page, at, store, faults } = await openConsole(browser(), createMemoryStore());
    await page.click("[data-opens=create]");
    await page.fill("#create-accountId", "acme");
    await page.click("button:text-is('Create account')");
    await issueKey(page);
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
    await page.click("[data-opens=plan-dialog]");
    expect(await page.isVisible("#plan-perDay")).toBe(false);
    await page.selectOption("#plan-plan", "enterprise");
    expect(await page.isVisible("#plan-perDay"), "limits of a plan that has custom ones").toBe(true);
    await page.selectOption("#plan-plan", "pro");
    expect(await page.isVisible("#plan-perDay")).toBe(false);
    await page.click("button:text-is('Change plan')");
    await page.waitForSelector("text=The plan is now pro.");
    expect(page.url()).toBe(at("accounts/acme"));
    expect(faults).toEqual([]);
  });

  test("another's change appears within two seconds, and a form that has not seen it writes nothing", async () => {
    const { page, path } = await openDomainsConsole(browser());
    await page.fill("#add-host", "new.example.com");
    const theirs = FILE.replace("www.orders", "shop");
    writeFileSync(path, theirs);
    await page.waitForSelector("th >> text=shop.example.com", { timeout: 2000 });
    await page.click("button:text-is('Add domain')");
    await page.waitForSelector(".notice.failure >> text=The file has changed");
    expect(readFileSync(path, "utf8")).toBe(theirs);
    expect(await page.inputValue("#add-host")).toBe("new.example.com");
    await page.click("button:text-is('Add domain')");
    await page.waitForSelector("h1:text-is('new.example.com')");
    expect(readFileSync(path, "utf8")).toContain("shop.example.com");
  });

  test("a file with an error is shown with line and column, as text, and nothing is written", async () => {
    const file = "domains:\n  primary: <img src=x onerror=alert(1)>\n  <script>alert(2)</script>: 1\n";
    const { page, path, faults } = await openDomainsConsole(browser(), { file });
    const problems = await page.innerText("#problems");
    expect(problems).toContain("Line 2, column 12");
    expect(problems).toContain("<script>alert(2)</script>");
    expect(await page.locator("main img, main script").count()).toBe(0);
    expect(await page.locator("#add-host").count()).toBe(0);
    expect(readFileSync(path, "utf8")).toBe(file);
    writeFileSync(path, FILE);
    await page.waitForSelector("th >> text=www.orders", { timeout: 2000 });
    expect(faults).toEqual([]);
  });
});
