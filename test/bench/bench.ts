/**
 * Runs this service and its peers side by side, prints one table, and exits with 1 if a budget is missed or was not
 * measured: `npm run bench -- [--quick] [--only JOB] [--rounds N]`. Progress goes to standard error.
 */
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { installPackages } from "../support/install-packages.ts";
import { BUDGETS, judge } from "./budgets.ts";
import { bundle } from "./jobs/bundle.ts";
import { LONG_LISTS } from "./jobs/long-lists.ts";
import { UNDER_LOAD } from "./jobs/under-load.ts";
import { requireWrk } from "./load/load.ts";
import { describeMachine } from "./machine.ts";
import type { Samples } from "./rounds.ts";
import { PEERS_HOME } from "./servers/candidates.ts";
import type { Bench } from "./servers/stages.ts";

const JOBS: Readonly<Record<string, (bench: Bench) => Promise<Samples>>> = {
  ...UNDER_LOAD,
  ...LONG_LISTS,
  bundle,
};

const log = (line: string) => process.stderr.write(`${line}\n`);
const { quick, only, rounds } = readFlags();

requireWrk();
const source = fileURLToPath(new URL("peers", import.meta.url));
installPackages(source, PEERS_HOME);
cpSync(source, PEERS_HOME, { recursive: true });
mkdirSync(".data", { recursive: true });
const home = mkdtempSync(join(".data", "bench-"));
process.on("exit", () => rmSync(home, { recursive: true, force: true }));
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

const machine = describeMachine(home);
const measured = new Map<string, Samples>();
for (const job of only) {
  const folder = join(home, job);
  mkdirSync(folder);
  try {
    const bench = { folder, rounds, quick, log: (line: string) => log(`${job}: ${line}`) };
    const samples = await JOBS[job]?.(bench);
    if (samples !== undefined) measured.set(job, samples);
  } catch (error) {
    // The others go on. The table says that this one was not measured.
    log(`${job}: ${error instanceof Error ? error.stack : error}`);
  }
  rmSync(folder, { recursive: true });
}

const verdicts = BUDGETS.filter(({ job }) => only.includes(job)).map((budget) =>
  judge(budget, measured.get(budget.job)),
);
const rows = [
  ["job", "figure", "ours", "compared with", "×", "budget", ""],
  ["---", "---", "---:", "---:", "---:", "---:", "---"],
  ...verdicts.map(({ cells }) => cells),
];
const missed = verdicts.filter(({ met }) => met === false).length;
const summary = missed === 0 ? "Every budget is met." : `Budgets missed or not measured: ${missed}.`;
const table = rows.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
process.stdout.write(`${machine}, medians of ${rounds} rounds\n\n${table}\n\n${summary}\n`);
process.exitCode = missed === 0 ? 0 : 1;

function readFlags() {
  try {
    const options = {
      quick: { type: "boolean", default: false },
      only: { type: "string", multiple: true, default: Object.keys(JOBS) },
      rounds: { type: "string" },
    } as const;
    const { quick, only, rounds = quick ? "1" : "5" } = parseArgs({ options }).values;
    const unknown = only.filter((job) => !Object.hasOwn(JOBS, job));
    if (unknown.length > 0)
      throw new Error(`There is no job ${unknown.join(", ")}. Jobs: ${Object.keys(JOBS).join(", ")}.`);
    if (!/^[1-9]\d{0,3}$/.test(rounds))
      throw new Error(`--rounds: '${rounds}' is invalid. Use a whole number from 1 to 9999.`);
    return { quick, only, rounds: Number(rounds) };
  } catch (error) {
    log((error as Error).message);
    log("Usage: npm run bench -- [--quick] [--only JOB] [--rounds N]");
    process.exit(2);
  }
}
