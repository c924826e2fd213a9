import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const FLAG = "--max-semi-space-size=8";

test.each([
  ["package.json", `node ${FLAG} lib/cli/bin.ts serve`],
  ["lib/node/deploy/Dockerfile", `ENV NODE_OPTIONS=${FLAG}\n`],
  ["lib/node/deploy/store-orders.service", `Environment=NODE_OPTIONS=${FLAG}\n`],
])("%s limits the memory for short-lived objects", (file, line) => {
  expect(readFileSync(new URL(`../../${file}`, import.meta.url), "utf8")).toContain(line);
});
