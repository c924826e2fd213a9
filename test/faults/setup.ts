/** Chooses the seed before a run, and prints the figures after it. */
import { randomInt } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import type { Figure } from "./run.ts";

export default function setup(project: TestProject): () => void {
  const seed = seedOf(process.env["SEED"]);
  const folder = mkdtempSync(join(tmpdir(), "store-orders-figures-"));
  const figures = join(folder, "figures.ndjson");
  project.provide("seed", seed);
  project.provide("figures", figures);
  process.stderr.write(`seed ${seed} (SEED=${seed} repeats the choices of this run)\n`);

  return () => {
    const lines = existsSync(figures) ? readFileSync(figures, "utf8").trimEnd().split("\n") : [];
    rmSync(folder, { recursive: true });
    if (lines.length > 0) {
      process.stdout.write(`\n${tableOf(lines.map((line) => JSON.parse(line)))}\nseed ${seed}\n`);
    }
  };
}

function seedOf(value: string | undefined): number {
  if (value === undefined || value === "") return randomInt(2 ** 31);
  if (!/^\d{1,10}$/.test(value)) throw new Error("SEED is a whole number of at most ten digits.");
  return Number(value) % 2 ** 31;
}

/** One block per suite, with its name in the first line. */
function tableOf(figures: readonly Figure[]): string {
  const suites = [...new Set(figures.map(({ suite }) => suite))].toSorted();
  const linesOf = (suite: string) =>
    figures.flatMap((figure) => (figure.suite === suite ? [`  ${figure.label}: ${figure.value}`] : []));
  return suites.map((suite) => [suite, ...linesOf(suite), ""].join("\n")).join("\n");
}
