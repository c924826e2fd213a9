import type { Page } from "playwright-core";

/** Enters a key into the dialog of the page. */
export async function enterKey(page: Page, key: string) {
  await page.click("button.authorize");
  await page.fill(".auth-container input", key);
  await page.click(".auth-btn-wrapper button[type=submit]");
  await page.click(".auth-btn-wrapper .btn-done");
}

/** Calls an operation on the page. Returns what is shown of the response. */
export async function tryOut(page: Page, operation: string, argument: string) {
  const block = page.locator(`[id$=${operation}]`);
  await block.locator(".opblock-summary-control").click();
  await block.locator(".try-out__btn").click();
  await block.locator(".parameters input").fill(argument);
  await block.locator(".execute").click();
  const response = block.locator(".live-responses-table");
  await response.waitFor();
  return response.innerText();
}
