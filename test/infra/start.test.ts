import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { baseEnvironment, waitForExit } from "../support/command-line.ts";

test("on an older Node the program stops at once with one line that says which Node it needs", async () => {
  const olderNode = "data:text/javascript,Object.defineProperty(process,'versions',{value:{node:'20.20.2'}})";
  const child = spawn(process.execPath, ["--import", olderNode, "infra/start.mjs"], {
    env: baseEnvironment(),
  });
  const { status, stdout, stderr } = await waitForExit(child);
  expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
  expect(stderr).toMatch(/^store-orders needs Node 24 or newer; .* for 'npm run' and 'npx' .*\n$/);
});

test("the required version of the Pulumi CLI includes the installed one", () => {
  const range: string = parse(readFileSync("Pulumi.yaml", "utf8")).requiredPulumiVersion;
  const { devDependencies } = JSON.parse(readFileSync("package.json", "utf8"));
  expect(range).toMatch(/^>=3\.\d+\.0$/);
  expect(Number(devDependencies.pulumi.split(".")[1])).toBeGreaterThanOrEqual(Number(range.split(".")[1]));
});
