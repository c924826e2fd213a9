import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { baseEnvironment, waitForExit } from "../support/command-line.ts";
import { type Budget, judge } from "./budgets.ts";

test.each([
  [["--onyl", "list"], "Unknown option '--onyl'"],
  [["--only", "lisst"], "There is no job lisst. Jobs: list, cancel,"],
  [["--rounds", "x"], "--rounds: 'x' is invalid. Use a whole number from 1 to 9999."],
])("the benchmark with %j exits with 2 and its usage, and measures nothing", async (args, message) => {
  const program = fileURLToPath(new URL("bench.ts", import.meta.url));
  const bench = spawn(process.execPath, [program, ...args], { env: baseEnvironment() });
  const { status, stdout, stderr } = await waitForExit(bench);
  expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
  expect(stderr).toContain(message);
  expect(stderr).toMatch(/^Usage: npm run bench -- .*\n$/m);
  expect(stderr).not.toContain("    at ");
});

/** Ours, and two peers of which `b` is the faster and the larger one. */
const SAMPLES = {
  ours: [100, 300, 600].map((rate) => ({ rate, peak: 90 })),
  a: [40, 40, 40].map((rate) => ({ rate, peak: 100 })),
  b: [50, 100, 400].map((rate) => ({ rate, peak: 120 })),
};

test.each<[string, Omit<Budget, "job">, boolean | undefined, string]>([
  [
    "at least the median ratio to the best peer",
    { figure: "rate", than: ["a", "b"], limit: 2 },
    true,
    "2.00",
  ],
  ["less than that", { figure: "rate", than: ["a", "b"], limit: 2.01 }, false, "2.00"],
  ["at most the ratio to the leanest peer", { figure: "peak", than: ["a", "b"], limit: 0.9 }, true, "0.90"],
  ["more than that", { figure: "peak", than: ["a", "b"], limit: 0.89 }, false, "0.90"],
  ["at most a value", { figure: "peak", limit: 90 }, true, ""],
  ["more than a value", { figure: "peak", limit: 89 }, false, ""],
  ["a figure that was not measured", { figure: "total", limit: 1_000 }, false, ""],
  ["no limit", { figure: "peak", than: ["b"] }, undefined, "0.75"],
])("a budget, %s", (_, budget, met, ratio) => {
  const verdict = judge({ job: "list", ...budget }, SAMPLES);
  expect([verdict.met, verdict.cells[4]]).toEqual([met, ratio]);
});

test("a job that could not run meets none of its budgets", () => {
  const { met, cells } = judge({ job: "list", figure: "rate", than: ["a"], limit: 0 }, undefined);
  expect([met, cells.at(-1)]).toEqual([false, "**not measured**"]);
});
