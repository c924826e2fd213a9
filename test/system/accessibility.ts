import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { expect } from "vitest";
import { homeOfPackages } from "../support/install-packages.ts";

const AXE = readFileSync(`${homeOfPackages("system")}/node_modules/axe-core/axe.min.js`, "utf8");

/** Each colour scheme once, on a phone and on a screen: the scheme, and the width in pixels. */
export const LOOKS = [
  ["light", 390],
  ["dark", 1280],
] as const;

/** What axe finds in the page as it is now: the rule and the first place of each violation. */
export async function findViolations(page: Page): Promise<unknown> {
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(AXE);
  // Without the second argument, it also describes every element that passes.
  return page.evaluate(
    "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes[0].html]))",
  );
}

/** Expects that axe finds nothing, and that the page is as wide as its window. `state` names it in a failure. */
export async function expectAccessible(page: Page, state: string): Promise<void> {
  expect(await findViolations(page), state).toEqual([]);
  await expectFits(page, state);
}

/** Expects that the page is as wide as its window, and that an open dialog shows all of its text. */
export async function expectFits(page: Page, state: string): Promise<void> {
  const width = await page.evaluate("document.documentElement.scrollWidth");
  expect(width, state).toBe(page.viewportSize()?.width);
  const hidden = await page.evaluate(
    "[...document.querySelectorAll('dialog[open]')].map((open) => open.scrollWidth - open.clientWidth)",
  );
  for (const pixels of hidden as number[]) expect(pixels, `${state}, beside its dialog`).toBe(0);
}
