import { defineConfig } from "vitest/config";
import { LONG_TESTS } from "../vitest.config.ts";

/** Tests that take long, or need another program on the machine; each says why where it is skipped. */
export default defineConfig({
  test: {
    root: new URL("../..", import.meta.url).pathname,
    include: ["test/system/**/*.test.ts", ...LONG_TESTS],
    testTimeout: 300_000,
    hookTimeout: 60_000,
    // Each suite measures: they must not take the processor from one another.
    fileParallelism: false,
  },
});
