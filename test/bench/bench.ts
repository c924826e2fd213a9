/**
 * Runs this service and its peers side by side, and prints the figures: `npm run bench -- [--quick] [--only JOB]
 * [--json] [--rounds N] [--seconds N]`. Progress goes to standard error.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { JobReport } from "./figures.ts";
import { installPeers } from "./install-peers.ts";
import type { Bench, Job } from "./job.ts";
import { admission } from "./jobs/admission.ts";
import { bundle } from "./jobs/bundle.ts";
import { cancel, singleCancel } from "./jobs/cancel.ts";
import { dynamodbList } from "./jobs/dynamodb-list.ts";
import { importOrders } from "./jobs/import.ts";
import { list } from "./jobs/list.ts";
import { longList } from "./jobs/long-list.ts";
import { outbox } from "./jobs/outbox.ts";
import { postgresCancel, postgresList, postgresLongList } from "./jobs/postgres.ts";
import { rejected } from "./jobs/rejected.ts";
import { findLoadGenerator } from "./load/load.ts";
import { describeMachine } from "./machine.ts";
import { toMarkdown } from "./report.ts";

const JOBS: readonly Job[] = [
  list,
  cancel,
  singleCancel,
  rejected,
  longList,
  outbox,
  postgresCancel,
  postgresList,
  postgresLongList,
  dynamodbList,
  admission,
  bundle,
  importOrders,
];

const log = (line: string) => process.stderr.write(`${line}\n`);
const values = readFlags();
const rounds = readCount("--rounds", values.rounds) ?? (values.quick ? 1 : 5);
const seconds = readCount("--seconds", values.seconds) ?? (values.quick ? 1 : 3);
const jobs = JOBS.filter(({ id }) => values.only.length === 0 || values.only.includes(id));
const unknown = values.only.filter((id) => !JOBS.some((job) => job.id === id));
if (unknown.length > 0)
  exitWithUsage(`There is no job ${unknown.join(", ")}. Jobs: ${JOBS.map(({ id }) => id).join(", ")}.`);

installPeers();
mkdirSync(".data", { recursive: true });
const home = mkdtempSync(join(".data", "bench-"));
process.on("exit", () => rmSync(home, { recursive: true, force: true }));
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

const load = findLoadGenerator();
const machine = describeMachine(home, load.name);
const reports: JobReport[] = [];
for (const { id, run } of jobs) {
  const folder = join(home, id);
  mkdirSync(folder);
  reports.push(await run(benchIn(folder)));
  rmSync(folder, { recursive: true });
}
process.stdout.write(
  values.json ? `${JSON.stringify({ machine, reports }, null, 2)}\n` : toMarkdown(machine, reports),
);

function benchIn(folder: string): Bench {
  return { folder, load, rounds, seconds, quick: values.quick, log };
}

function readFlags() {
  try {
    const options = {
      quick: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      only: { type: "string", multiple: true, default: [] as string[] },
      rounds: { type: "string" },
      seconds: { type: "string" },
    } as const;
    return parseArgs({ options }).values;
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
  log(reason);
  log("Usage: npm run bench -- [--quick] [--only JOB] [--json] [--rounds N] [--seconds N]");
  process.exit(2);
}
