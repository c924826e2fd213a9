import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT, runSuccessfully } from "./installed.ts";

test("the reference has a page for every entry, and every export is documented", async () => {
  await runSuccessfully(ROOT, process.execPath, ["test/reference/build.ts"]);
  const { exports } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8"));
  for (const entry of Object.keys(exports).filter((path) => path !== "./package.json")) {
    const page = `${entry.replace(".", "store-orders").replace("/", "_")}.html`;
    expect(existsSync(join(ROOT, "dist/reference/modules", page)), page).toBe(true);
  }
});
