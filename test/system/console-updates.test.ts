import { expect, test } from "vitest";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import type { Store } from "../../lib/stores/store.ts";
import { describeInBrowser } from "./browser.ts";
import { openConsole } from "./console-fixture.ts";

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
  test("a double click makes a change once", async () => {
    const { page, at, accounts, store } = await openConsole(browser(), createMemoryStore(), {
      viewport: { width: 1280, height: 1600 },
    });
    await accounts.create("acme", { plan: "pro" });
    await page.goto(at("accounts/acme"));
    await page.click("text=Issue key");
    const first = await page.innerText("#issued-key");
    // The result of the first change stays, so nothing moves under the pointer.
    await page.dblclick("text=Issue key", { delay: 100 });
    await page.waitForSelector(`#issued-key:not(:text-is("${first}"))`);
    await page.waitForTimeout(300);
    expect((await store.accounts.find("acme"))?.keys).toHaveLength(2);
  });

  test("while the store is slow, one update is waiting, and it does not take back a change", async () => {
    const slow = storeThatWaits();
    const { page, at, accounts, store } = await openConsole(browser(), slow.store);
    await accounts.create("acme", { plan: "pro" });
    await page.goto(at("accounts/acme"));
    slow.hold();
    await expect.poll(slow.readers, { timeout: 4_000 }).toBe(1);
    await page.waitForTimeout(4_000);
    expect(slow.readers()).toBe(1);
    await page.selectOption("#plan-plan", "free");
    await page.click("text=Change plan");
    await page.waitForSelector("text=The plan is now free.");
    await page.evaluate(`new MutationObserver(() => {
      if (document.querySelector("h1 + p").textContent.includes("pro")) window.isOutOfDate = true;
    }).observe(document.body, { subtree: true, childList: true, characterData: true })`);
    slow.release();
    await page.waitForTimeout(1_000);
    expect(await page.evaluate("window.isOutOfDate")).toBeUndefined();
    await accounts.setPlan("acme", { plan: "pro" });
    await page.waitForSelector("h1 + p:has-text('pro')", { timeout: 4_000 });
    expect((await store.accounts.find("acme"))?.plan).toBe("pro");
  });
});
