import { defineConfig } from "vitest/config";
import base from "../vitest.config.ts";

/** The tests beside those that mirror the changed files, which are in `MUTANTS_FILES`. */
const folders = (process.env["MUTANTS_FILES"] ?? "").split(",").map((file) => file.replace(/[^/]+$/, ""));

export default defineConfig({
  ...base,
  test: { ...base.test, include: folders.map((folder) => `${folder.replace(/^lib\//, "test/")}*.test.ts`) },
});
