import { readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { expectAccessible, LOOKS } from "./accessibility.ts";
import { describeInBrowser } from "./browser.ts";
import { openDomainsConsole } from "./console-domains-fixture.ts";

describeInBrowser("the views of the console's domains", (browser) => {
  test.each(LOOKS)(
    "axe finds nothing, and nothing scrolls sideways (%s, %d pixels)",
    async (colorScheme, width) => {
      const open = await openDomainsConsole(browser(), { colorScheme, viewport: { width, height: 844 } });
      const { page, at, path, setRecords } = open;
      const check = (state: string) => expectAccessible(page, state);
      await check("the list");
      await page.click("button:text-is('Add domain')");
      await page.waitForSelector("#add-host-error");
      await check("an error at the field");
      await page.goto(at("domains/orders.example.com"));
      setRecords("orders.example.com A 192.0.2.1");
      const verified = page.waitForResponse(/verify/);
      await page.click("#verification button");
      await verified;
      await page.waitForSelector(".reason");
      // A button that waits is pale.
      await page.waitForSelector("form[aria-busy='true']", { state: "detached" });
      await check("a host with reasons");
      await page.goto(at("domains/www.orders.example.com"));
      await page.click("text=Remove…");
      await check("the dialog");
      writeFileSync(path, "domains:\n  primary: [\n");
      await page.goto(at("domains"));
      await check("a file with an error");
      expect(open.faults).toEqual([]);
    },
  );

  test("a file of 500 hosts is shown and changed", async () => {
    const many = Array.from({ length: 499 }, (_, index) => `    - h${index}.example.com`).join("\n");
    const file = `domains:\n  primary: a.example.com\n  aliases:\n${many}\n`;
    const { page, path } = await openDomainsConsole(browser(), { file });
    expect(await page.locator("tbody tr").count()).toBe(500);
    await page.fill("#add-host", "last.example.com");
    await page.click("button:text-is('Add domain')");
    await page.waitForSelector("h1:text-is('last.example.com')");
    expect(readFileSync(path, "utf8")).toBe(`${file}    - last.example.com\n`);
  });
});
