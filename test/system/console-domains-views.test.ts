import { readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { DomainsOptions } from "../../lib/console/domains/hosts.ts";
import { expectAccessible, findViolations, LOOKS } from "./accessibility.ts";
import { describeInBrowser } from "./browser.ts";
import { FILE, openDomainsConsole, TARGET } from "./console-domains-fixture.ts";

const STACK: DomainsOptions["source"] = {
  kind: "stack",
  name: "outputs.json",
  read: async () => ({
    knownZones: ["example.com"],
    hosts: [
      { host: "orders.example.com", role: "primary", target: TARGET },
      {
        ...{ host: "www.example.com", role: "redirect", target: TARGET },
        stack: {
          state: "certificate_pending",
          reason: "ACM has not issued the certificate <b>yet</b>.",
          next: ["Run an update after ACM has issued it."],
          since: "2026-11-20T09:00:00Z",
          until: "2026-11-23T09:00:00Z",
        },
      },
    ],
  }),
};

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
      await page.click("#verification button");
      await page.waitForSelector(".reason");
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

  test("a file of 500 hosts is shown in part, and still changed", async () => {
    const many = Array.from({ length: 499 }, (_, index) => `    - h${index}.example.com`).join("\n");
    const file = `domains:\n  primary: a.example.com\n  aliases:\n${many}\n`;
    const { page, path } = await openDomainsConsole(browser(), { file });
    expect(await page.locator("tbody tr").count()).toBe(200);
    expect(await page.innerText("main")).toContain("And 300 more");
    await page.fill("#add-host", "last.example.com");
    await page.click("button:text-is('Add domain')");
    await page.waitForSelector("h1:text-is('last.example.com')");
    expect(readFileSync(path, "utf8")).toBe(`${file}    - last.example.com\n`);
  });

  test("a stack's host has what its outputs say, and the lines for the stack file, which are copied", async () => {
    const { page, path } = await openDomainsConsole(browser(), { source: () => STACK });
    await page.fill("#stack-host", "www.example.com");
    await page.click("text=Show lines");
    await page.waitForSelector("#stack-host-error >> text=www.example.com is listed twice");
    await page.fill("#stack-host", "New.example.com");
    await page.click("text=Show lines");
    await page.click("text=Copy lines");
    const copied = () => page.evaluate("navigator.clipboard.readText()");
    await expect.poll(copied).toBe(`config:
  store-orders:domains:
    primary: orders.example.com
    aliases: [new.example.com]
    redirects:
      - { from: www.example.com, to: orders.example.com, status: 301 }`);
    expect(await findViolations(page)).toEqual([]);

    await page.click("th >> text=www.example.com");
    await page.waitForSelector("h2 >> text=last update");
    const panel = await page.innerText("section:has(#stack-title)");
    for (const text of [
      "Certificate pending",
      "<b>yet</b>",
      "2026-11-20 09:00",
      "2026-11-23 09:00",
      "Run an update",
    ])
      expect(panel).toContain(text);
    expect(await page.innerText("#stack-removal")).toBe(
      "config:\n  store-orders:domains:\n    primary: orders.example.com",
    );
    expect(await page.locator("main form[method=post]").count()).toBe(1);
    expect(await findViolations(page)).toEqual([]);
    expect(readFileSync(path, "utf8")).toBe(FILE);
  });
});
