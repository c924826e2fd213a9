/** Chooses the seed of a run before it begins, and prints the figures when it is over. */
import { randomInt } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Table from "cli-table3";
import type { TestProject } from "vitest/node";
import type { Figure } from "./run.ts";

export default function setup(project: TestProject): () => void {
  const seed = seedOf(process.env["SEED"]);
  const folder = mkdtempSync(join(tmpdir(), "store-orders-figures-"));
  const figures = join(folder, "figures.ndjson");
  project.provide("seed", seed);
  project.provide("figures", figures);
  process.stderr.write(`seed ${seed} (SEED=${seed} makes the same choices again)\n`);

  return () => {
    const lines = existsSync(figures) ? readFileSync(figures, "utf8").trimEnd().split("\n") : [];
    rmSync(folder, { recursive: true });
    if (lines.length > 0) {
      process.stdout.write(`\n${tableOf(lines.map((line) => JSON.parse(line)))}\nseed ${seed}\n`);
    }
  };
}

function seedOf(given: string | undefined): number {
  if (given === undefined || given === "") return randomInt(2 ** 31);
  if (!/^\d{1,10}$/.test(given)) throw new Error("SEED is a whole number of at most ten digits.");
  return Number(given) % 2 ** 31;
}

/** One block a suite, its name in the first line. */
function tableOf(figures: readonly Figure[]): string {
  const table = new Table({
    chars: OPEN,
    style: { head: [], border: [], "padding-left": 0 },
    wordWrap: true,
  });
  const suites = [...new Set(figures.map(({ suite }) => suite))].toSorted();
  for (const suite of suites) {
    const own = figures.filter((figure) => figure.suite === suite);
    table.push(...own.map(({ what, value }, index) => [index === 0 ? suite : "", what, value]));
    table.push(["", "", ""]);
  }
  return table.toString().replace(/ +$/gm, "").trimEnd();
}

const OPEN = {
  ...{ top: "", "top-mid": "", "top-left": "", "top-right": "" },
  ...{ bottom: "", "bottom-mid": "", "bottom-left": "", "bottom-right": "" },
  ...{ left: "", "left-mid": "", mid: "", "mid-mid": "", right: "", "right-mid": "", middle: "  " },
};
