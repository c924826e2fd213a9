import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { parseKey } from "../../lib/accounts/hash-key.ts";
import { MINUTE_MS } from "../../lib/plans/windows.ts";
import type { Store } from "../../lib/stores/store.ts";
import { useEmulator } from "../support/dynamodb/use-emulator.ts";
import { findViolations } from "./accessibility.ts";
import { describeInBrowser } from "./browser.ts";
import { openConsole, openTestStore, STORES } from "./console-fixture.ts";

/** Makes requests with a key, as callers of the API do. */
async function request(store: Store, key: string, count: number): Promise<void> {
  const parsed = parseKey(key);
  if (parsed === undefined) throw new Error("The key is invalid.");
  for (let index = 0; index < count; index++) await store.accounts.admit(parsed, Date.now());
}

/** Waits for the next minute if this one ends soon, because its count ends with it. */
async function beginMinute(): Promise<void> {
  const left = MINUTE_MS - (Date.now() % MINUTE_MS);
  if (left < 15_000) await sleep(left);
}

describeInBrowser("accounts in the console", (browser) => {
  const emulator = useEmulator();
  describe.each(STORES)("%s", (kind) => {
    test("an account is created, gets a key, uses it, and changes its plan", async () => {
      await beginMinute();
      const store = await openTestStore(kind, emulator);
      const { page, at, faults } = await openConsole(browser(), store);
      await page.fill("#create-account", "acme");
      await page.click("text=Create account");
      await page.click("a:text-is('acme')");
      await page.click("text=Issue key");
      const key = await page.innerText("#issued-key");
      expect(key).toMatch(/^so_test_acme_\w{38}$/);
      await page.click("text=Copy key");
      expect(await page.evaluate("navigator.clipboard.readText()")).toBe(key);

      await request(store, key, 7);
      await page.waitForSelector("text=7 of 60", { timeout: 2_500 });
      // Neither the updates nor a reload shows the key again in another response.
      expect(await page.innerText("#issued-key")).toBe(key);
      await page.reload();
      expect(await page.content()).not.toContain(key);

      await page.selectOption("#plan-plan", "pro");
      await page.click("text=Change plan");
      await page.waitForSelector("text=The plan is now pro.");
      expect(await page.innerText("main")).toMatch(/7 of 300[\s\S]*7 of 10,000/);
      expect((await store.accounts.find("acme"))?.plan).toBe("pro");
      expect(page.url()).toBe(at("accounts/acme"));
      expect(faults).toEqual([]);
    });

    test("a key is rotated with an overlap, revoked after one confirmation, and unbanned", async () => {
      const store = await openTestStore(kind, emulator);
      const { page, at, accounts } = await openConsole(browser(), store);
      await accounts.create("acme", { plan: "free" });
      const first = await accounts.issueKey("acme");
      if (!first.ok) throw new Error(first.code);
      await request(store, first.key, 85);
      await page.goto(at("accounts/acme"));
      const row = page.locator(`tr[id='key-${first.keyId}']`);
      expect(await row.innerText()).toMatch(/banned\s+14 min|banned\s+15 min/);
      await row.locator("text=Lift ban").click();
      await page.waitForSelector("text=has been lifted");
      expect(await row.innerText()).toContain("active");

      await row.locator("text=Rotate…").click();
      await page.selectOption(`[id='rotate-${first.keyId}-overlap']`, { label: "1 h" });
      await row.locator("text=Rotate key").click();
      expect(parseKey(await page.innerText("#issued-key"))?.accountId).toBe("acme");
      const after = await store.accounts.find("acme");
      const old = after?.keys.find(({ id }) => id === first.keyId);
      expect(Math.abs((old?.expiresAt ?? 0) - Date.now() - 3_600_000)).toBeLessThan(60_000);

      await row.locator("text=Revoke…").click();
      await row.locator("text=Cancel").last().click();
      await row.locator("text=Revoke…").click();
      await row.locator("text=Revoke key").click();
      await page.waitForSelector("text=has been revoked");
      expect(await row.innerText()).toMatch(/revoked/);
      const parsed = parseKey(first.key);
      if (parsed === undefined) throw new Error("The key is invalid.");
      expect(await store.accounts.admit(parsed, Date.now())).toMatchObject({ ok: false });
    });
  });

  test("invalid limits are shown at their fields, which keep what was entered", async () => {
    const store = await openTestStore("SQLite", emulator);
    const { page, accounts, at } = await openConsole(browser(), store);
    await accounts.create("acme", { plan: "free" });
    await page.goto(at("accounts/acme"));
    await page.selectOption("#plan-plan", "enterprise");
    await page.fill("#plan-perMinute", "70000");
    await page.fill("#plan-perDay", "many");
    await page.click("text=Change plan");
    await page.waitForSelector("#plan-perMinute-error");
    expect(await page.innerText("#plan-perMinute-error")).toContain("at most 60000");
    expect(await page.innerText("#plan-perDay-error")).toContain("whole number");
    expect(await page.inputValue("#plan-perDay")).toBe("many");
    expect(await page.evaluate("document.activeElement.id")).toBe("plan-perMinute");
    expect(await findViolations(page)).toEqual([]);
    expect((await store.accounts.find("acme"))?.plan).toBe("free");
  });

  /** Opens the page of an account that has a key. */
  async function openAccount() {
    const store = await openTestStore("SQLite", emulator);
    const { page, accounts, at } = await openConsole(browser(), store);
    await accounts.create("acme", { plan: "free" });
    const issued = await accounts.issueKey("acme");
    if (!issued.ok) throw new Error(issued.code);
    await page.goto(at("accounts/acme"));
    return { page, store, key: issued.key };
  }

  test("changes by others appear within two seconds; a half-filled form, its focus and a dialog stay", async () => {
    const { page, store, key } = await openAccount();
    await page.fill("#plan-perDay", "12");
    await page.fill("#issue-expires", "2030-01-01");
    await page.focus("#issue-expires");
    await request(store, key, 3);
    await page.waitForSelector("text=3 of 60", { timeout: 2_000 });
    expect(await page.inputValue("#plan-perDay")).toBe("12");
    expect(await page.inputValue("#issue-expires")).toBe("2030-01-01");
    expect(await page.evaluate("document.activeElement.id")).toBe("issue-expires");
    await page.click("text=Revoke…");
    await request(store, key, 1);
    await page.waitForSelector("text=4 of 60", { timeout: 2_000 });
    expect(await page.isVisible("text=Revoke the key?")).toBe(true);
  });

  test("the chart says what was observed, and invents nothing", async () => {
    const { page, store, key } = await openAccount();
    expect(await page.innerText("main")).toContain("0 admitted and 0 rejected in the one minute");
    expect(await page.locator(".chart .unseen").count()).toBe(59);
    // Both windows may roll over in between, but not twice.
    await request(store, key, 70);
    await page.waitForSelector("text=/[1-9]\\d* admitted and [1-9]\\d* rejected/", { timeout: 3_000 });
  });
});
