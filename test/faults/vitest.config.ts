import { defineConfig } from "vitest/config";

/** The suites under faults, load and abuse. The tests of their own tools, one level below, run with `npm test`. */
export default defineConfig({
  test: {
    root: new URL("../..", import.meta.url).pathname,
    include: ["test/faults/*.test.ts"],
    globalSetup: ["test/faults/setup.ts"],
    testTimeout: 300_000,
    hookTimeout: 60_000,
    // Suites measure time, so they must not share the processor.
    fileParallelism: false,
  },
});
