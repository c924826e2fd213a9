import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { LongestFirst } from "../support/longest-first.ts";
import { COMPILE_CACHE, LONG_TESTS } from "../vitest.config.ts";

/** Suites that use the packed package. */
const OF_THE_PACKAGE = [
  "test/system/bundles.test.ts",
  "test/system/examples*.test.ts",
  "test/system/frameworks.test.ts",
  "test/system/package*.test.ts",
  "test/system/runtimes.test.ts",
];
/** Suites that measure time or memory, also how soon a page shows a change, so they must not share the processor. */
const ALONE = ["test/system/console-within-two-seconds.test.ts", "test/system/import-million.test.ts"];

/** Tests that take long or need another program. A skipped test prints the reason. */
export default defineConfig({
  test: {
    root: new URL("../..", import.meta.url).pathname,
    globalSetup: ["test/system/setup.ts"],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    sequence: { sequencer: LongestFirst },
    expect: { poll: { timeout: 30_000 } },
    // Two more than there are cores: browsers, databases and installations mostly wait.
    maxWorkers: availableParallelism() + 2,
    projects: [
      // The first, because they take longest.
      {
        extends: true,
        test: { name: "package", include: OF_THE_PACKAGE, globalSetup: ["test/system/package-setup.ts"] },
      },
      {
        extends: true,
        test: {
          name: "side by side",
          include: ["test/system/*.test.ts", ...LONG_TESTS],
          exclude: [...OF_THE_PACKAGE, ...ALONE],
          env: COMPILE_CACHE,
          // As in `npm test`.
          isolate: false,
        },
      },
      {
        extends: true,
        // Other work on the machine can fail a measurement once.
        test: { name: "alone", include: ALONE, maxWorkers: 1, sequence: { groupOrder: 1 }, retry: 1 },
      },
    ],
  },
});
