import { defineConfig } from "vitest/config";

/** Tests that need more than npm brings: another program on the machine. Each says why where it is skipped. */
export default defineConfig({
  test: {
    root: new URL("../..", import.meta.url).pathname,
    include: ["test/system/**/*.test.ts"],
    testTimeout: 120_000,
  },
});
