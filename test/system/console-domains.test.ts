import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { describeInBrowser } from "./browser.ts";
import { FILE, openDomainsConsole, TARGET } from "./console-domains-fixture.ts";

const HOST = "new.example.com";

describeInBrowser("the console's domains in a browser", (browser) => {
  test("a domain is added by keyboard, errors are at the field, and each value of its record is copied", async () => {
    const { page, path, faults } = await openDomainsConsole(browser());
    await page.focus("#add-host");
    await page.keyboard.type(`https://${HOST}/`);
    await page.keyboard.press("Enter");
    const error = page.locator("#add-host-error");
    await error.waitFor();
    expect(await error.innerText()).toBe(
      "This is a URL. Write only its hostname, such as orders.example.com.",
    );
    expect(await page.getAttribute("#add-host", "aria-describedby")).toContain("add-host-error");
    expect(await page.evaluate("document.activeElement.id")).toBe("add-host");
    expect(readFileSync(path, "utf8")).toBe(FILE);

    await page.keyboard.press("Control+A");
    await page.keyboard.type("New.Example.com.");
    await page.keyboard.press("Tab");
    await page.keyboard.type("Redirects");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.waitForSelector(`h1:text-is('${HOST}')`);
    expect(await page.innerText("#result")).toContain("Set its record at the DNS provider");
    expect(readFileSync(path, "utf8")).toBe(
      `${FILE}    - { from: ${HOST}, to: orders.example.com, status: 301 }\n`,
    );
    for (const [label, value] of Object.entries({ name: "new", value: TARGET })) {
      await page.click(`[aria-label='Copy ${label}']`);
      await expect.poll(() => page.evaluate("navigator.clipboard.readText()")).toBe(value);
    }
    expect(faults).toEqual([]);
  });

  test("a record is named in the zone that DNS has, a guess is called one, and an apex gets an ALIAS or ANAME record", async () => {
    const { page, dns, setRecords } = await openDomainsConsole(browser(), {
      file: "domains:\n  primary: www.sub.example.com\n  aliases: [www.other.test-zone.com, example.com]\n",
    });
    setRecords("sub.example.com SOA ns1.example.com");
    await page.click("th >> text=www.sub.example.com");
    await page.waitForSelector("#record-name:text-is('www')");
    expect(await page.innerText(".record")).toContain("in the zone sub.example.com");
    expect(await page.innerText("main")).not.toContain("is a guess");
    dns.update("com NS ns.registry.example", { "test-zone.com": "REFUSED" });
    await page.click("text=All domains");
    await page.click("th >> text=www.other.test-zone.com");
    await page.waitForSelector("#record-name:text-is('www.other')");
    expect(await page.innerText("main")).toContain("test-zone.com is a guess by the public suffix list");
    await page.click("text=All domains");
    await page.click("th >> text=/^example.com$/");
    await page.waitForSelector("#record-name:text-is('@')");
    expect(await page.innerText(".record")).toMatch(/ALIAS\s+or ANAME/);
  });

  test("the list shows each host with its cause and next step, and a host is followed until it is live, without a reload", async () => {
    const { page, dns, setRecords, issueFor } = await openDomainsConsole(browser());
    const host = "orders.example.com";
    const row = page.locator(`tbody tr[id="host-${host}"]`);
    await row.locator(".badge:text-is('Waiting for DNS')").waitFor();
    expect(await row.innerText()).toContain("The record is missing.");
    expect(await row.innerText()).toContain(`add the CNAME record: name orders, value ${TARGET}, TTL 3600.`);
    setRecords(`${host} A 192.0.2.1`, 'example.com CAA 0 issue "letsencrypt.org"');
    await page.click("button:text-is('Verify all')");
    await row.locator("text=Other records block the CNAME.").waitFor();
    expect(await page.innerText("#result")).toBe("");

    await page.click(`th >> text="${host}"`);
    await page.waitForSelector(".reason");
    const reasons = await page.locator(".reason").allInnerTexts();
    expect(reasons).toHaveLength(2);
    expect(reasons[0]).toMatch(/block the CNAME[\s\S]*Found\s+A 192.0.2.1\s+Expected\s+CNAME d-1a2b3c/);
    expect(reasons[1]).toContain('example.com CAA 0 issue "letsencrypt.org"');
    const todo = await page.locator("h3:text-is('What to do') + ol li").allInnerTexts();
    expect(todo[0]).toMatch(/^At the DNS/);
    expect(todo).toHaveLength(3);
    expect(await page.innerText(".head .badge")).toBe("Waiting for DNS");
    expect(await page.innerText("#verification")).toContain("48 hours");
    await page.click("#verification button:text-is('Verify again')");
    expect(await page.innerText("#result")).toBe("");

    setRecords(`${host} CNAME ${TARGET}`);
    await page.waitForSelector(".badge:text-is('Certificate pending')");
    expect(await page.innerText("#verification")).toMatch(/30 minutes after verification\. (29|30) min/);
    issueFor(host);
    await page.waitForSelector(".badge:text-is('Live')");
    expect(await page.locator(".steps .done").count()).toBe(4);
    const asked = dns.queries.length;
    await page.waitForTimeout(3500);
    expect(dns.queries).toHaveLength(asked);
  });
});
