import { defineConfig } from "vitest/config";
import { LONG_TESTS } from "../vitest.config.ts";

/** Tests that take long or need another program. A skipped test prints the reason. */
export default defineConfig({
  test: {
    root: new URL("../..", import.meta.url).pathname,
    include: ["test/system/**/*.test.ts", ...LONG_TESTS],
    testTimeout: 300_000,
    hookTimeout: 60_000,
    // Suites measure time, so they must not share the processor.
    fileParallelism: false,
  },
});
