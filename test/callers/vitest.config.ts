import { defineConfig } from "vitest/config";

/** The clients of other people against the service. Outside CI: they are pinned, and the machine may lack some. */
export default defineConfig({
  test: {
    root: new URL("../..", import.meta.url).pathname,
    globalSetup: ["test/callers/setup.ts"],
    include: ["test/callers/*.test.ts"],
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
