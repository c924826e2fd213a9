import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

/** What `npm test` runs. The suites left out need long or another program: see test/system and test/faults. */
export default defineConfig({
  test: {
    root: new URL("..", import.meta.url).pathname,
    include: ["test/**/*.test.ts"],
    exclude: ["test/system/**", "test/faults/*.test.ts", "node_modules/**"],
    // Vitest leaves one core to itself; on two cores no two files would run at the same time.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    // The processes that tests start load their packages faster with it.
    env: { NODE_COMPILE_CACHE: new URL("../node_modules/.cache/store-orders", import.meta.url).pathname },
    // No module keeps state between tests, and loading them once per worker saves a third of the time of a short file.
    isolate: false,
    // A passing file is one line: the reporter lists the cases that take longer than this.
    slowTestThreshold: 30_000,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
