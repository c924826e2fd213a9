import { globSync, readFileSync } from "node:fs";
import { join, normalize } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser } from "playwright-core";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { DOCUMENTS } from "../documents/markdown.ts";
import { ENTRIES } from "../support/entries.ts";
import { expectAccessible, LOOKS } from "./accessibility.ts";
import { describeInBrowser } from "./browser.ts";
import { ROOT, runSuccessfully } from "./installed.ts";

const SITE = join(ROOT, "dist/reference");
let pages: ReadonlyMap<string, string>;

beforeAll(async () => {
  // Ends with an error if an export is not documented.
  await runSuccessfully(ROOT, process.execPath, ["test/reference/build.ts"]);
  const files = globSync("**/*", { cwd: SITE });
  pages = new Map(
    files.map((path) => [path, /\.(html|svg)$/.test(path) ? readFileSync(join(SITE, path), "utf8") : ""]),
  );
}, 180_000);

test("the site has a page for every entry, every document and every example", () => {
  for (const { name } of ENTRIES) expect(pages.keys()).toContain(`modules/${name.replace("/", "_")}.html`);
  const examples = globSync("test/examples/*", { cwd: ROOT }).map((path) => path.split("/").at(-1));
  const titles = [...pages.values()].map((html) => /<h1[^>]*>([^<]+)</.exec(html)?.[1]);
  const headings = DOCUMENTS.map(({ text }) => /^# (.+)$/m.exec(text)?.[1]);
  expect(titles).toEqual(expect.arrayContaining([...headings, ...examples]));
});

test("every link within the site leads to a file and an anchor that exist", () => {
  const anchors = new Map(
    [...pages].map(([path, text]) => [
      path,
      new Set([...text.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id)),
    ]),
  );
  let count = 0;
  const broken = [...pages].flatMap(([from, text]) =>
    [...text.matchAll(/\s(?:href|src)="(?!\w+:)([^"]*)"/g)].flatMap(([, link = ""]) => {
      count++;
      const [path = "", anchor] = decodeURIComponent(link).split("#");
      const target = path === "" ? from : normalize(join(from, "..", path));
      const found = anchors.get(target === "./" ? "index.html" : target);
      const exists = found !== undefined && (!anchor || found.has(anchor));
      return exists ? [] : [`${from}: ${link}`];
    }),
  );
  expect(count).toBeGreaterThan(10_000);
  expect([...new Set(broken)]).toEqual([]);
});

describeInBrowser("the site in a browser", (browser) => {
  async function open(path: string, options: Parameters<Browser["newPage"]>[0] = {}) {
    const page = await browser().newPage(options);
    onTestFinished(() => page.close());
    await page.goto(pathToFileURL(join(SITE, path)).href);
    return page;
  }

  test("the navigation leads to every document, entry and example", async () => {
    const page = await open("index.html");
    for (const [group, name] of [
      ["Documents", "Contributing"],
      ["Modules", "store-orders/http"],
      ["Examples", "own-store"],
    ] as const) {
      await page.locator(".tsd-navigation summary", { hasText: group }).click();
      await page.locator(".tsd-navigation a", { hasText: name }).click();
      await expect.poll(() => page.locator("h1").innerText()).toContain(name);
    }
  });

  test.each([
    ["a document by its text", "Litestream", "Stores"],
    ["a function by its name", "checkQuota", "checkQuota"],
  ])("the search finds %s", async (_what, words, title) => {
    const page = await open("index.html");
    await page.click("#tsd-search-trigger");
    await page.fill("#tsd-search-input", words);
    await page.locator("#tsd-search-results a", { hasText: title }).first().click();
    await expect.poll(() => page.locator("h1").innerText()).toContain(title);
  });

  // Each width and each scheme once.
  test.each([LOOKS[0], LOOKS[3]])(
    "axe finds nothing on a %s screen of %i pixels, and nothing is cut off",
    async (colorScheme, width) => {
      const page = await open("index.html", { colorScheme, viewport: { width, height: 800 } });
      const kinds = [
        "index.html",
        "modules.html",
        "hierarchy.html",
        "documents/Deploying_to_AWS.html",
        "documents/Benchmark.html",
        "documents/Examples.html",
        "documents/webhook-receiver.html",
        "modules/store-orders_http.html",
        "functions/store-orders_http.createHandler.html",
        "classes/store-orders.InvalidInputError.html",
        "interfaces/store-orders.Outbox.html",
        "types/store-orders_http.OperationDefinition.html",
        "variables/store-orders.PLAN_LIMITS.html",
      ];
      for (const path of kinds) {
        await page.goto(pathToFileURL(join(SITE, path)).href);
        await expectAccessible(page, path);
      }
    },
  );
});
