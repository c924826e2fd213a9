import { accessSync } from "node:fs";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe } from "vitest";
import { skipsBecause } from "../support/skip-reason.ts";

/** Debian's: `apt-get install chromium`. */
const CHROMIUM = "/usr/bin/chromium";
/** Flags that disable all background traffic of the browser. */
const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Returns the browser that all tests of a suite share. It can be called once the tests run. */
type SharedBrowser = () => Browser;

/** Declares tests that need a browser. Without one, they are skipped with the reason. */
export function describeInBrowser(what: string, declareTests: (browser: SharedBrowser) => void): void {
  describe.skipIf(skipsBecause(what, reasonToSkip()))(what, () => {
    let browser: Browser;
    beforeAll(async () => {
      browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
    });
    afterAll(() => browser?.close());
    declareTests(() => browser);
  });
}

function reasonToSkip(): string | undefined {
  try {
    accessSync(CHROMIUM);
    return undefined;
  } catch {
    return `${CHROMIUM} is missing; apt-get install chromium`;
  }
}

/** Adds an inline script to the page, and returns whether it has run. */
export async function runsInlineScript(page: Page): Promise<boolean> {
  await page.evaluate(`
    const script = document.createElement("script");
    script.textContent = "window.injected = true";
    document.body.append(script);
  `);
  return page.evaluate("window.injected === true");
}

export async function tabTo(page: Page, selector: string): Promise<void> {
  for (let presses = 0; presses < 60; presses++) {
    if (await page.evaluate(`document.activeElement.matches(${JSON.stringify(selector)})`)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`${selector} cannot be reached with the Tab key.`);
}
