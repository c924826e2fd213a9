/**
 * Changes the sources in small ways, one at a time, and runs the tests that are to notice each change:
 * `npm run test:mutants -- [--seed N] [--count N] [--minutes N] [--area NAME]… [--report FILE] [FILE…]`. Progress goes
 * to standard error, the survivors and a table to standard output.
 */
import { type ChildProcess, fork } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import Table from "cli-table3";
import { homeOfPackages, installPackages } from "../support/install-packages.ts";
import { AREAS, type Area } from "./areas.ts";
import type { Message, Sampled, SampleOptions } from "./sampler.ts";

/** One sample in a thousand: every change of the sources changes the sample, and most samples are small. */
const MIN_CHANCE = 0.001;

/** The sample of an area, and the result of each mutant that was tried. */
interface Outcome {
  readonly area: Area;
  readonly sample: readonly Sampled[];
  readonly of: number;
  readonly stale: readonly string[];
  readonly results: ReadonlyMap<string, string>;
  /** Why the area could not be tried, such as a test that fails without any mutant. */
  readonly failure?: string;
}

/** The states of a mutant that no test notices. */
const SURVIVED: ReadonlyMap<string, string> = new Map([
  ["Survived", "survived"],
  ["NoCoverage", "no test runs it"],
]);
const USAGE =
  "Usage: npm run test:mutants -- [--seed N] [--count N] [--minutes N] [--concurrency N] [--area NAME]… [--report FILE] [FILE…]";
const SOURCE = fileURLToPath(new URL(".", import.meta.url));
const HOME = homeOfPackages("mutants");

const { values, positionals: files } = readFlags();
const seed = readCount("--seed", values.seed) ?? Math.ceil(Math.random() * 9999);
const count = readCount("--count", values.count) ?? 300;
const minutes = readCount("--minutes", values.minutes) ?? 30;
const concurrency = readCount("--concurrency", values.concurrency) ?? availableParallelism();
const areas = chooseAreas();

installPackages(SOURCE, HOME);
process.stderr.write(`Seed ${seed}: --seed ${seed} chooses the same mutants again.\n`);
mkdirSync(".data", { recursive: true });
const folder = mkdtempSync(join(".data", "mutants-"));
const TSCONFIG = join(folder, "tsconfig.json");
let stryker: ChildProcess | undefined;
process.on("exit", () => {
  stop();
  rmSync(folder, { recursive: true, force: true });
});
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

writeFileSync(TSCONFIG, JSON.stringify({ extends: "../../tsconfig.json", include: ["../../lib"] }));
const deadline = Date.now() + minutes * 60_000;
const outcomes: Outcome[] = [];
const sizes = areas.map(sizeOfSample);
for (const [index, area] of areas.entries()) {
  // An area that is done early leaves its time to the others.
  const milliseconds = (deadline - Date.now()) / (areas.length - index);
  outcomes.push(await tryArea(area, sizes[index] ?? 0, milliseconds));
}
const reports = outcomes.map(judge);
process.stdout.write(`${toTable(reports)}\n`);
for (const { failures } of reports) for (const line of failures) process.stdout.write(`${line}\n`);
if (values.report !== undefined) writeFileSync(values.report, toTestReport());
process.exitCode = reports.some(({ failures }) => failures.length > 0) ? 1 : 0;

/** Tries a sample of the mutants of an area, in a random order, until the time is over. */
async function tryArea(area: Area, size: number, milliseconds: number): Promise<Outcome> {
  const settings = join(folder, `${area.name}.json`);
  const options = {
    testRunner: "vitest",
    // As in `npm test`: some tests change the directory of their process.
    vitest: { configFile: "test/mutants/vitest.config.ts", pool: "forks" },
    plugins: [
      "@stryker-mutator/vitest-runner",
      "@stryker-mutator/typescript-checker",
      join(SOURCE, "sampler.ts"),
    ],
    reporters: ["sampler"],
    mutate: sourcesOf(area),
    coverageAnalysis: "perTest",
    concurrency,
    timeoutMS: 10_000,
    tempDirName: join(folder, "sandbox"),
    ignorePatterns: [".data", "dist"],
    // A mutant that does not compile is none: nobody could commit it.
    checkers: ["typescript"],
    tsconfigFile: TSCONFIG,
    allowConsoleColors: false,
    logLevel: "warn",
  };
  writeFileSync(settings, JSON.stringify(options));
  const sampleOptions: SampleOptions = { seed, count: size };
  const child = fork(join(HOME, "node_modules/@stryker-mutator/core/bin/stryker.js"), ["run", settings], {
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    env: { ...process.env, MUTANTS_AREA: area.name, MUTANTS_SAMPLE: JSON.stringify(sampleOptions) },
    // In a process group of its own, which includes the test runners.
    detached: true,
  });
  stryker = child;
  let log = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => (log += chunk));
  let planned: Extract<Message, { kind: "sample" }> | undefined;
  const results = new Map<string, string>();
  child.on("message", (message: Message) => {
    if (message.kind === "sample") {
      planned = message;
      return;
    }
    results.set(message.id, message.status);
    const mutant = planned?.sample.find(({ id }) => id === message.id);
    if (mutant !== undefined && SURVIVED.has(message.status))
      process.stdout.write(describeSurvivor(mutant, message.status));
    if (results.size % 10 === 0) {
      const toTry = planned?.sample.filter(({ accepted }) => !accepted).length;
      process.stderr.write(`${area.name}: ${results.size} of ${toTry} mutants\n`);
    }
  });
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    stop();
  }, milliseconds);
  const code = await new Promise((resolve) => child.once("close", resolve));
  clearTimeout(timer);
  stop();
  stryker = undefined;
  return {
    area,
    sample: planned?.sample ?? [],
    of: planned?.of ?? 0,
    stale: (planned?.stale ?? []).map(({ file, from, to }) => `${file}: ${from} → ${to}`),
    results,
    ...((code !== 0 && !late) || results.size === 0
      ? { failure: log.trim().slice(-4000) || "The time was over." }
      : {}),
  };
}

/** Ends Stryker and its test runners. */
function stop(): void {
  try {
    if (stryker?.pid !== undefined) process.kill(-stryker.pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

interface Report {
  readonly area: Area;
  readonly of: number;
  readonly killed: number;
  readonly timeout: number;
  readonly survived: number;
  readonly uncovered: number;
  /** Mutants that do not compile. They count neither as killed nor as survived. */
  readonly invalid: number;
  readonly accepted: number;
  readonly left: number;
  readonly score: number;
  readonly failures: readonly string[];
}

function judge({ area, sample, of, stale, results, failure }: Outcome): Report {
  for (const entry of stale)
    process.stdout.write(`test/mutants/accepted.txt lists a mutant that does not exist: ${entry}\n`);
  const has = (...status: readonly string[]) =>
    sample.filter(({ id }) => status.includes(results.get(id) ?? "")).length;
  const killed = has("Killed", "RuntimeError");
  const timeout = has("Timeout");
  const survived = has("Survived");
  const uncovered = has("NoCoverage");
  const invalid = has("CompileError");
  const accepted = sample.filter((mutant) => mutant.accepted).length;
  const tried = killed + timeout + survived + uncovered;
  const score = tried === 0 ? 1 : (killed + timeout) / tried;
  const failures = [
    ...(failure === undefined ? [] : [`${area.name} could not be tried: ${failure}`]),
    ...(chanceOf(survived + uncovered, tried, area.required) < MIN_CHANCE
      ? [
          `${area.name}: the tests kill ${percent(score)} of ${tried} mutants, but ${percent(area.required)} are required.`,
        ]
      : []),
  ];
  const left = sample.length - accepted - invalid - tried;
  return { area, of, killed, timeout, survived, uncovered, invalid, accepted, left, score, failures };
}

/**
 * The probability that a sample has so many survivors although the tests kill the required share of all mutants: a small
 * sample can have a few by chance.
 */
function chanceOf(survivors: number, tried: number, required: number): number {
  let probability = required ** tried;
  let ofFewer = 0;
  for (let count = 0; count < survivors; count++) {
    ofFewer += probability;
    probability *= ((tried - count) / (count + 1)) * ((1 - required) / required);
  }
  return 1 - ofFewer;
}

function describeSurvivor({ file, line, from, to }: Sampled, status: string): string {
  return `${file}:${line} (${SURVIVED.get(status)})\n  - ${from}\n  + ${to}\n`;
}

function toTable(rows: readonly Report[]): string {
  const table = new Table({
    head: [
      "area",
      "killed",
      "timeout",
      "survived",
      "no coverage",
      "no valid code",
      "accepted",
      "not tried",
      "score",
      "required",
    ],
    colAligns: ["left", ...Array<"right">(9).fill("right")],
    style: { head: [], border: [], compact: true },
  });
  for (const row of rows) {
    const { area, of, killed, timeout, survived, uncovered, invalid, accepted, left, score } = row;
    const total = killed + timeout + survived + uncovered + invalid + accepted + left;
    const name = `${area.name} (${total} of ${of})`;
    table.push([
      name,
      killed,
      timeout,
      survived,
      uncovered,
      invalid,
      accepted,
      left,
      percent(score),
      percent(area.required),
    ]);
  }
  return table.toString();
}

/** One test per area, in the format of Vitest's JSON report. */
function toTestReport(): string {
  const failed = reports.filter(({ failures }) => failures.length > 0).length;
  return JSON.stringify({
    success: failed === 0,
    numPassedTests: reports.length - failed,
    numFailedTests: failed,
    testResults: reports.map(({ area, failures }) => {
      const status = failures.length > 0 ? "failed" : "passed";
      const fullName = `the tests kill at least ${percent(area.required)} of the mutants of ${area.name}`;
      return {
        name: "test/mutants",
        status,
        assertionResults: [{ fullName, status, failureMessages: failures }],
      };
    }),
  });
}

function percent(share: number): string {
  return `${(Math.floor(share * 1000) / 10).toFixed(1)} %`;
}

/** The count is divided in proportion to the lines of the areas. */
function sizeOfSample(area: Area): number {
  const lines = (of: Area) =>
    sourcesOf(of).reduce((sum, file) => sum + readFileSync(file, "utf8").split("\n").length, 0);
  const total = areas.reduce((sum, other) => sum + lines(other), 0);
  return Math.max(1, Math.round((count * lines(area)) / total));
}

function sourcesOf({ sources }: Area): readonly string[] {
  return files.length === 0 ? sources : sources.filter((file) => files.includes(file));
}

function chooseAreas(): readonly Area[] {
  const names = AREAS.map(({ name }) => name);
  const wrong = values.area.filter((name) => !names.includes(name));
  if (wrong.length > 0) exitWithUsage(`There is no area ${wrong.join(", ")}. Areas: ${names.join(", ")}.`);
  const unknown = files.filter((file) => !AREAS.some(({ sources }) => sources.includes(file)));
  if (unknown.length > 0) exitWithUsage(`No area contains ${unknown.join(", ")}.`);
  return AREAS.filter((area) => values.area.length === 0 || values.area.includes(area.name)).filter(
    (area) => sourcesOf(area).length > 0,
  );
}

function readFlags() {
  try {
    const text = { type: "string" } as const;
    const options = {
      ...{ seed: text, count: text, minutes: text, concurrency: text, report: text },
      area: { type: "string", multiple: true, default: [] as string[] },
    } as const;
    return parseArgs({ options, allowPositionals: true });
  } catch (error) {
    return exitWithUsage((error as Error).message);
  }
}

function readCount(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text);
  return exitWithUsage(`${flag}: '${text}' is invalid. Use a whole number from 1 to 9999.`);
}

function exitWithUsage(reason: string): never {
  process.stderr.write(`${reason}\n${USAGE}\n`);
  process.exit(2);
}
