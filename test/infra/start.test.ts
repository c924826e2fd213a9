import { spawn } from "node:child_process";
import { expect, test } from "vitest";
import { baseEnvironment, waitForExit } from "../support/command-line.ts";

test("on an older Node the program stops at once with one line that says which Node it needs", async () => {
  const olderNode = "data:text/javascript,Object.defineProperty(process,'versions',{value:{node:'20.20.2'}})";
  const child = spawn(process.execPath, ["--import", olderNode, "infra/start.mjs"], {
    env: baseEnvironment(),
  });
  const { status, stdout, stderr } = await waitForExit(child);
  expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
  expect(stderr).toMatch(/^store-orders needs Node 24 or newer; .* for 'npm run' and 'npx' .*\n$/);
});
