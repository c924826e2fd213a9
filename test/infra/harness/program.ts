import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";
import { type Cloud, type Registration, type Seen, startEngine } from "./engine.ts";

const PROJECT = "store-orders";
const HOST = createRequire(import.meta.url).resolve("@pulumi/pulumi/cmd/run/index.js");

/** A run makes much that is short-lived. */
const QUICK = ["--max-semi-space-size=64"];

/** A program to run, and the world to run it in. */
export interface Run {
  /** @default the project's own */
  readonly program?: string;
  readonly stack: string;
  /** By full key: text, or a value that is written as JSON. */
  readonly config?: Readonly<Record<string, unknown>>;
  readonly secretKeys?: readonly string[];
  readonly preview?: boolean;
  readonly cloud: Cloud;
  /** Keeps stack traces, which take a third of a run: every resource asks for one. @default false */
  readonly traces?: boolean;
}

/** What came of it. */
export interface Outcome extends Seen {
  readonly code: number;
  /** Everything that the engine was told as an error, and whatever else was printed. */
  readonly errors: string;
}

/** The configuration in a stack file of the repository. */
export function stackFile(stack: string): Readonly<Record<string, unknown>> {
  return parse(readFileSync(`Pulumi.${stack}.yaml`, "utf8")).config;
}

/** Runs a program under Pulumi's own language host, as the command line does, against an engine of the tests' own. */
export function run(asked: Run): Promise<Outcome> {
  const outcome = (turns[next] ?? Promise.resolve()).then(() => runNow(asked));
  turns[next] = outcome.catch(() => {});
  next = (next + 1) % AT_ONCE;
  return outcome;
}

/** More would only take the processor from one another. */
const AT_ONCE = 2;
const turns: Promise<unknown>[] = [];
let next = 0;

async function runNow({
  program,
  stack,
  config,
  secretKeys = [],
  preview = false,
  traces = false,
  cloud,
}: Run): Promise<Outcome> {
  const engine = await startEngine({ project: PROJECT, stack, preview }, cloud);
  const values = Object.entries(config ?? stackFile(stack)).map(([key, value]) => [
    key,
    typeof value === "string" ? value : JSON.stringify(value),
  ]);
  const where = ["--monitor", engine.address, "--engine", engine.address];
  const what = ["--project", PROJECT, "--stack", stack, "--organization", "shop", "--parallel", "32"];
  const how = [...(preview ? ["--dry-run"] : []), "--pwd", process.cwd(), "--root-directory", process.cwd()];
  const child = spawn(
    process.execPath,
    [
      ...QUICK,
      ...(traces ? [] : ["--stack-trace-limit=0"]),
      HOST,
      ...where,
      ...what,
      ...how,
      program ?? mainOf("Pulumi.yaml"),
    ],
    {
      stdio: ["ignore", "pipe", "pipe"],
      env: {
        PATH: process.env["PATH"],
        PULUMI_CONFIG: JSON.stringify(Object.fromEntries(values)),
        PULUMI_CONFIG_SECRET_KEYS: JSON.stringify(secretKeys),
        PULUMI_NODEJS_TYPESCRIPT: "false",
        // Most of a run is loading the SDKs, which need not be compiled every time.
        NODE_COMPILE_CACHE: join(tmpdir(), "store-orders-compile-cache"),
      },
    },
  );
  let printed = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text) => (printed += text));
  const [code] = (await once(child, "close")) as [number];
  engine.close();
  const told = engine.seen.logs.filter(({ severity }) => severity >= 3).map(({ message }) => message);
  return { ...engine.seen, code, errors: [...told, printed].join("\n").trim() };
}

/** The one registration with a name; fails where there is none. */
export function find({ registrations }: Pick<Seen, "registrations">, name: string): Registration {
  const found = registrations.find((registration) => registration.name === name);
  if (found === undefined)
    throw new Error(`No resource is called ${name}: ${registrations.map((each) => each.name).join(", ")}`);
  return found;
}

/** The registrations of a type. */
export function ofType(
  { registrations }: Pick<Seen, "registrations">,
  type: string,
): readonly Registration[] {
  return registrations.filter((registration) => registration.type === type);
}

function mainOf(file: string): string {
  return parse(readFileSync(file, "utf8")).main;
}
