import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { LongestFirst } from "../support/longest-first.ts";
import { COMPILE_CACHE } from "../vitest.config.ts";

/** Suites that measure latency, processor time or timeouts, or that use the whole machine. */
const ALONE = [
  "test/faults/load.test.ts",
  "test/faults/flood.test.ts",
  "test/faults/slow-clients.test.ts",
  "test/faults/abuse-socket.test.ts",
];

/** The suites under faults, load and abuse. The tests of their own tools, one level below, run with `npm test`. */
export default defineConfig({
  test: {
    root: new URL("../..", import.meta.url).pathname,
    globalSetup: ["test/faults/setup.ts"],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: "side by side",
          include: ["test/faults/*.test.ts"],
          exclude: ALONE,
          // One more than there are cores: some files mostly wait.
          maxWorkers: availableParallelism() + 1,
          env: COMPILE_CACHE,
          sequence: { groupOrder: 0 },
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
