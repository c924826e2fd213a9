import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ENTRIES } from "../support/entries.ts";
import { ROOT, runSuccessfully } from "./installed.ts";

test("the reference has a page for every entry, and every export is documented", async () => {
  await runSuccessfully(ROOT, process.execPath, ["test/reference/build.ts"]);
  for (const { name } of ENTRIES) {
    const page = `${name.replace("/", "_")}.html`;
    expect(existsSync(join(ROOT, "dist/reference/modules", page)), page).toBe(true);
  }
});
