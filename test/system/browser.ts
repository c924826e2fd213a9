import { accessSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

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

/** Why no browser can be started, if so. */
export function reasonToSkip(): string | undefined {
  try {
    accessSync(CHROMIUM);
    return undefined;
  } catch {
    return `${CHROMIUM} is missing; apt-get install chromium`;
  }
}

/** Starts the browser. */
export function launchBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
}
