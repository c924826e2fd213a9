import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { LongestFirst } from "./support/longest-first.ts";

/** Files that take long, or use the packages of `test/system`, although they are beside what they test. `npm run test:system` runs them. */
export const LONG_TESTS = [
  "test/bench/bench.test.ts",
  "test/cli/commands/tables.test.ts",
  "test/cli/commands/smoke.test.ts",
  "test/client/long-list.test.ts",
  "test/http/openapi/lint.test.ts",
  "test/infra/cost/cost.test.ts",
  "test/infra/deployer/every-setting.test.ts",
  "test/infra/deployer/policy-documents.test.ts",
  "test/infra/domains/custom-domain.test.ts",
  "test/infra/domains/live-host.test.ts",
  "test/infra/domains/manual-dns.test.ts",
  "test/infra/domains/next-update.test.ts",
  "test/infra/domains/own-certificate.test.ts",
  "test/infra/domains/preflight.test.ts",
  "test/infra/domains/route53.test.ts",
  "test/infra/domains/several-domains.test.ts",
  "test/infra/events/change-events.test.ts",
  "test/infra/failures.test.ts",
  "test/infra/functions/cold-start.test.ts",
  "test/infra/functions/disconnect.test.ts",
  "test/infra/functions/entry.test.ts",
  "test/infra/functions/existing-shop.test.ts",
  "test/infra/settings-changed.test.ts",
  "test/infra/tables-kept.test.ts",
  "test/stores/dynamodb/contract-lists.test.ts",
  "test/stores/dynamodb/contract-other.test.ts",
  "test/stores/dynamodb/contract-outbox.test.ts",
  "test/stores/postgres/model.test.ts",
];

/** The processes that tests start load their packages faster with it. */
export const COMPILE_CACHE = {
  NODE_COMPILE_CACHE: new URL("../node_modules/.cache/store-orders", import.meta.url).pathname,
};

/** What `npm test` runs. The suites left out need long or another program: see test/system, test/faults and test/callers. */
export default defineConfig({
  test: {
    root: new URL("..", import.meta.url).pathname,
    include: ["test/**/*.test.ts"],
    exclude: ["test/system/**", "test/callers/**", "test/faults/*.test.ts", ...LONG_TESTS, "node_modules/**"],
    // One more than there are cores: some files mostly wait, for timeouts and for the processes that they start.
    maxWorkers: availableParallelism() + 1,
    env: COMPILE_CACHE,
    // No module keeps state between tests, and loading them once per worker saves a third of the time of a short file.
    isolate: false,
    // A passing file is one line: the reporter lists the cases that take longer than this.
    slowTestThreshold: 30_000,
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 30_000 } },
    sequence: { sequencer: LongestFirst },
  },
});
