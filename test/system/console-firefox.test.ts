import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createAccounts } from "../../lib/accounts/accounts.ts";
import { createMemoryStore, type Store } from "../../lib/stores/memory.ts";
import { type ConsoleFixture, useConsole } from "../support/console.ts";
import { findProgram } from "./find-program.ts";
import { type FirefoxPage, startFirefox } from "./firefox.ts";

const [TAB, ENTER, ESCAPE] = ["\uE004", "\uE006", "\uE00C"];
const program = findProgram("firefox-esr");

describe.skipIf(program === undefined)("the console in Firefox", () => {
  let page: FirefoxPage;
  let console: ConsoleFixture;
  let store: Store;
  const open = (path: string) => page.open(console.at(path));
  const hasText = (text: string) => page.until(`document.body.innerText.includes(${JSON.stringify(text)})`);
  const focused = () =>
    page.evaluate<string>("document.activeElement.textContent.trim() || document.activeElement.id");

  beforeAll(async () => {
    page = await startFirefox(program ?? "");
  });
  afterAll(() => page?.close());
  beforeEach(async () => {
    store = createMemoryStore();
    console = await useConsole({ store });
    await page.open(console.link);
    // The page of the console before has the same heading.
    const { origin } = new URL(console.link);
    await page.until(
      `location.origin === "${origin}" && document.querySelector("h1")?.textContent === "Accounts"`,
    );
    return () => expect(page.faults).toEqual([]);
  });

  test("an account is created, gets a named key that is copied, and is deleted once its ID was typed", async () => {
    await page.click("button", "Create account…");
    await page.click("#create-accountId");
    await page.type(`acme${ENTER}`);
    await hasText("The account acme has been created");
    await page.click("button", "Issue key…");
    await page.click("#issue-name");
    await page.type(`scanner${ENTER}`);
    await hasText("it cannot be shown again");
    expect((await store.accounts.find("acme"))?.keys).toMatchObject([{ name: "scanner" }]);
    // A browser can refuse the clipboard: the key is selected then.
    await page.evaluate("navigator.clipboard.writeText = () => Promise.reject(new DOMException('no'))");
    await page.click("button", "Copy key");
    await page.until("getSelection().toString().startsWith('so_test_acme_')");

    const limits = "document.querySelector('#plan-perDay').checkVisibility()";
    const choose = (plan: string) =>
      page.evaluate<boolean>(`(document.querySelector("#plan-plan").value = "${plan}", ${limits})`);
    await page.click("button", "Change plan");
    expect([await choose("enterprise"), await choose("free")], "fields for limits").toEqual([true, false]);
    await page.type(ESCAPE);

    await page.click("button", "Delete account");
    await page.until("document.activeElement.id === 'delete-dialog'");
    await page.type(`${TAB}wrong${ENTER}`);
    await hasText("Nothing was deleted");
    await page.until("document.activeElement.id === 'delete-accountId'");
    await page.evaluate("document.activeElement.select()");
    await page.type(`acme${ENTER}`);
    await hasText("The account acme has been deleted");
    expect(await store.accounts.find("acme")).toBeUndefined();
  });

  test("a dialog gets the focus, returns it when it is closed, and Tab leads to its first button", async () => {
    const accounts = createAccounts({ store: store.accounts, environment: "test" });
    await accounts.create("acme", { plan: "free" });
    await accounts.issueKey("acme");
    await open("accounts/acme");
    await page.click("button", "Revoke…");
    await page.until("document.activeElement.localName === 'dialog'");
    await page.type(ESCAPE);
    await page.until("document.activeElement.textContent === 'Revoke…'");
    await page.click("button", "Revoke…");
    await page.until("document.activeElement.localName === 'dialog'");
    // The page asks for itself meanwhile.
    await sleep(2_000);
    await page.type(TAB);
    expect(await focused()).toBe("Revoke key");
    const isWithin =
      "document.activeElement.closest('dialog') !== null || document.activeElement === document.body";
    for (let presses = 0; presses < 5; presses++) {
      await page.type(TAB);
      expect(await page.evaluate(isWithin)).toBe(true);
    }
    await page.click("button", "Revoke key");
    await hasText("has been revoked");
  });
});
