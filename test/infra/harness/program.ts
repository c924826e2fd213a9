import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parse } from "yaml";
import { baseEnvironment } from "../../support/command-line.ts";
import { type DnsServer, startDnsServer } from "../../support/dns-server.ts";
import type { Cloud, State } from "./deployment.ts";
import { type Recording, type Registration, startEngine } from "./engine.ts";
import type { RunKind } from "./registration.ts";

const PROJECT = "store-orders";
const LANGUAGE_HOST = createRequire(import.meta.url).resolve("@pulumi/pulumi/cmd/run/index.js");
const WARM_HOST = new URL("warm-host.ts", import.meta.url);
const NO_BUNDLING = ["--import", new URL("no-bundling.ts", import.meta.url).href];

/** Every resource collects a stack trace, which takes a third of a run. */
const NODE_FLAGS = ["--max-semi-space-size=64", "--stack-trace-limit=0"];

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
  /** Runs it in a process of its own under Pulumi's language host, as the command line does. @default `bundle` */
  readonly languageHost?: boolean;
}

export interface Outcome extends Recording {
  readonly code: number;
  /** All errors that the engine received, and all other output of a language host. */
  readonly errors: string;
}

export function stackFile(stack: string): Readonly<Record<string, unknown>> {
  return parse(readFileSync(`Pulumi.${stack}.yaml`, "utf8")).config;
}

/** Runs a program against the test engine, after the run before. */
export function run(options: RunOptions): Promise<Outcome> {
  const outcome = last.then(() => runNow(options));
  last = outcome.catch(() => {});
  return outcome;
}

let last: Promise<unknown> = Promise.resolve();

/** A program, and the engine that it registers its resources with. */
export interface ProgramRun {
  readonly main: string;
  readonly kind: RunKind;
  readonly engine: string;
  readonly config: Readonly<Record<string, string>>;
  readonly secretKeys: readonly string[];
}

async function runNow({
  program = parse(readFileSync("Pulumi.yaml", "utf8")).main,
  stack,
  config = stackFile(stack),
  secretKeys = [],
  preview = false,
  bundle = false,
  languageHost = bundle,
  cloud,
  state = new Map(),
  dns,
}: RunOptions): Promise<Outcome> {
  await using emptyDns = await startDnsServer("");
  const kind = { project: PROJECT, stack, preview };
  const engine = await startEngine(kind, cloud, state);
  const settings = Object.entries({ "store-orders:resolver": (dns ?? emptyDns).address, ...config });
  const texts = settings
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => [key, typeof value === "string" ? value : JSON.stringify(value)]);
  const ofProgram = { kind, engine: engine.address, config: Object.fromEntries(texts), secretKeys };
  const { code, output } = languageHost
    ? await runUnderLanguageHost({ ...ofProgram, main: resolve(program) }, bundle)
    : await runWarm({ ...ofProgram, main: pathToFileURL(program).href }, engine.failure);
  const errors = engine.recording.logs.filter(({ severity }) => severity >= 3).map(({ message }) => message);
  return { ...engine.recording, code: engine.stop(code), errors: [...errors, output].join("\n").trim() };
}

/** Runs a program in the process that has run the programs before, unless one of them had to be ended. */
async function runWarm(program: ProgramRun, failure: Promise<void>) {
  warmHost ??= startWarmHost();
  const { host, end } = warmHost;
  host.send(program);
  const ended = once(host, "message", { signal: end.signal }).then(([code]) => Number(code));
  const code = await Promise.race([ended, failure]);
  if (code !== undefined) return { code, output: "" };
  // What the program has logged arrives before its process ends.
  host.disconnect();
  await once(host, "exit");
  warmHost = undefined;
  return { code: 1, output: "" };
}

let warmHost: ReturnType<typeof startWarmHost> | undefined;

/** Starts the process of the programs, which ends with this one. */
function startWarmHost() {
  const host = fork(WARM_HOST, { env: baseEnvironment(), execArgv: [...NODE_FLAGS, ...NO_BUNDLING] });
  host.unref();
  host.channel?.unref();
  const end = new AbortController();
  host.once("exit", () => end.abort(new Error("The process of the programs has ended.")));
  return { host, end };
}

async function runUnderLanguageHost(
  { main, kind, engine, config, secretKeys }: ProgramRun,
  bundle: boolean,
): Promise<{ readonly code: number; readonly output: string }> {
  const addresses = ["--monitor", engine, "--engine", engine];
  const stack = ["--project", PROJECT, "--stack", kind.stack, "--organization", "shop", "--parallel", "32"];
  // A program runs in its folder, whichever that of Pulumi.yaml is.
  const folders = ["--pwd", dirname(main), "--root-directory", process.cwd()];
  const args = [...addresses, ...stack, ...folders, ...(kind.preview ? ["--dry-run"] : []), main];
  const child = spawn(
    process.execPath,
    [...NODE_FLAGS, ...(bundle ? [] : NO_BUNDLING), LANGUAGE_HOST, ...args],
    {
      stdio: ["ignore", "pipe", "pipe"],
      env: {
        ...baseEnvironment(),
        PULUMI_CONFIG: JSON.stringify(config),
        PULUMI_CONFIG_SECRET_KEYS: JSON.stringify(secretKeys),
        PULUMI_NODEJS_TYPESCRIPT: "false",
      },
    },
  );
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text) => (output += text));
  const [code] = (await once(child, "close")) as [number | null];
  return { code: code ?? 1, output };
}

/** Returns the registration with a name; throws if there is none. */
export function find({ registrations }: Pick<Recording, "registrations">, name: string): Registration {
  const found = registrations.find((registration) => registration.name === name);
  if (found === undefined)
    throw new Error(`No resource is named ${name}: ${registrations.map((each) => each.name).join(", ")}`);
  return found;
}

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
