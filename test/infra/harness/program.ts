import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, resolve } from "node:path";
import { afterAll, onTestFinished } from "vitest";
import { parse } from "yaml";
import { baseEnvironment } from "../../support/command-line.ts";
import { type DnsServer, startDnsServer } from "../../support/dns-server.ts";
import type { Cloud, State } from "./deployment.ts";
import { type Recording, type Registration, startEngine } from "./engine.ts";

const PROJECT = "store-orders";
const HOST = createRequire(import.meta.url).resolve("@pulumi/pulumi/cmd/run/index.js");

const NO_BUNDLING = new URL("no-bundling.ts", import.meta.url).href;

/** Ends a program whose standard input closes, which happens however the process of its test ends. */
const END_WITH_PARENT =
  'data:text/javascript,process.stdin.on("close",()=>process.kill(process.pid,"SIGKILL")).resume().unref()';

/** A run allocates many short-lived objects. */
const NODE_FLAGS = ["--max-semi-space-size=64", "--import", END_WITH_PARENT];

/** A program and its environment. */
export interface RunOptions {
  /** @default the project's program */
  readonly program?: string;
  readonly stack: string;
  /** By full key: text, or a value to encode as JSON. */
  readonly config?: Readonly<Record<string, unknown>>;
  readonly secretKeys?: readonly string[];
  readonly preview?: boolean;
  readonly cloud: Cloud;
  /** The state that earlier runs left. @default none: a new stack */
  readonly state?: State;
  /** Public DNS. @default a server that knows no name */
  readonly dns?: DnsServer;
  /** Bundles the functions, otherwise their code is empty. @default false */
  readonly bundle?: boolean;
  /** Ends the program. @default the end of the test that is running, or of the file if none is */
  readonly signal?: AbortSignal | undefined;
}

/** The result of a run. */
export interface Outcome extends Recording {
  readonly code: number;
  /** All errors that the engine received, and all other output. */
  readonly errors: string;
}

/** The configuration in a stack file of the project. */
export function stackFile(stack: string): Readonly<Record<string, unknown>> {
  return parse(readFileSync(`Pulumi.${stack}.yaml`, "utf8")).config;
}

/**
 * Runs a program under Pulumi's language host, as the command line does, against the test engine. The program ends with
 * the test that runs it, or with the file if no test does. Its run is then rejected in the first case; in the second, it
 * stays pending, because no test is left to wait for it.
 */
export function run(options: RunOptions): Promise<Outcome> {
  const testEnd = options.signal === undefined ? endOfTest() : undefined;
  const signal = options.signal ?? testEnd ?? endOfSuite();
  const outcome = (queues[next] ?? Promise.resolve()).then(() => runNow(options, signal));
  queues[next] = outcome.catch(() => {});
  next = (next + 1) % MAX_CONCURRENT;
  if (testEnd !== undefined) return outcome;
  return outcome.catch((error) => {
    if (error === signal.reason) return new Promise<never>(() => {});
    throw error;
  });
}

/**
 * Aborts at the end of the file, or of the `describe`, that calls it outside of its tests. A program needs it that
 * several tests share and that starts after an earlier one: some test is running then, which does not own it.
 */
export function endOfSuite(): AbortSignal {
  const controller = new AbortController();
  afterAll(() => controller.abort(new Error("The tests of this program have ended.")));
  return controller.signal;
}

/** Aborts at the end of the test that is running, if one is. */
function endOfTest(): AbortSignal | undefined {
  const controller = new AbortController();
  try {
    onTestFinished(() => controller.abort(new Error("The test of this program has ended.")));
  } catch {
    return undefined;
  }
  return controller.signal;
}

/** Runs are limited by the processor, so more would not be faster. */
const MAX_CONCURRENT = 2;
const queues: Promise<unknown>[] = [];
let next = 0;

async function runNow(
  {
    program,
    stack,
    config,
    secretKeys = [],
    preview = false,
    bundle = false,
    cloud,
    state = new Map(),
    dns,
  }: RunOptions,
  signal: AbortSignal,
): Promise<Outcome> {
  signal.throwIfAborted();
  await using emptyDns = await startDnsServer("");
  const settings = {
    "store-orders:resolver": (dns ?? emptyDns).address,
    ...(config ?? stackFile(stack)),
  };
  const kind = { project: PROJECT, stack, preview };
  const engine = await startEngine(kind, cloud, state);
  const values = Object.entries(settings).map(([key, value]) => [
    key,
    typeof value === "string" ? value : JSON.stringify(value),
  ]);
  const addresses = ["--monitor", engine.address, "--engine", engine.address];
  const project = ["--project", PROJECT, "--stack", stack, "--organization", "shop", "--parallel", "32"];
  const main = resolve(program ?? mainOf("Pulumi.yaml"));
  // A program runs in its folder, whichever that of Pulumi.yaml is.
  const folders = ["--pwd", dirname(main), "--root-directory", process.cwd()];
  const mode = [...(preview ? ["--dry-run"] : []), ...folders];
  const { PATH, NODE_COMPILE_CACHE } = baseEnvironment();
  const child = spawn(
    process.execPath,
    [
      ...NODE_FLAGS,
      ...(bundle ? [] : ["--import", NO_BUNDLING]),
      // Every resource collects a stack trace, which takes a third of a run.
      "--stack-trace-limit=0",
      HOST,
      ...addresses,
      ...project,
      ...mode,
      main,
    ],
    {
      stdio: ["pipe", "pipe", "pipe"],
      env: {
        PATH,
        // Most of a run is compiling the SDKs.
        NODE_COMPILE_CACHE,
        PULUMI_CONFIG: JSON.stringify(Object.fromEntries(values)),
        PULUMI_CONFIG_SECRET_KEYS: JSON.stringify(secretKeys),
        PULUMI_NODEJS_TYPESCRIPT: "false",
      },
    },
  );
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text) => (output += text));
  const end = () => child.kill("SIGKILL");
  signal.addEventListener("abort", end);
  if (signal.aborted) end();
  const [exitCode] = (await once(child, "close")) as [number | null];
  signal.removeEventListener("abort", end);
  const code = engine.stop(exitCode ?? 1);
  // A program that ended by itself has a result.
  if (exitCode === null) signal.throwIfAborted();
  const errors = engine.recording.logs.filter(({ severity }) => severity >= 3).map(({ message }) => message);
  return { ...engine.recording, code, errors: [...errors, output].join("\n").trim() };
}

/** Returns the registration with a name; throws if there is none. */
export function find({ registrations }: Pick<Recording, "registrations">, name: string): Registration {
  const found = registrations.find((registration) => registration.name === name);
  if (found === undefined)
    throw new Error(`No resource is named ${name}: ${registrations.map((each) => each.name).join(", ")}`);
  return found;
}

/** The registrations of a type. */
export function ofType(
  { registrations }: Pick<Recording, "registrations">,
  type: string,
): readonly Registration[] {
  return registrations.filter((registration) => registration.type === type);
}

/** What the engine did with a resource. */
export function operationOn({ operations }: Pick<Recording, "operations">, type: string, name: string) {
  return [...operations].find(([urn]) => urn.endsWith(`${type}::${name}`))?.[1];
}

function mainOf(file: string): string {
  return parse(readFileSync(file, "utf8")).main;
}
