import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    root: new URL("..", import.meta.url).pathname,
    include: ["test/**/*.test.ts"],
    exclude: ["test/system/**", "node_modules/**"],
    globalSetup: ["test/faults/setup.ts"],
    provide: { scale: "short" },
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
