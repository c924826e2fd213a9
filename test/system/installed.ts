import { execFile } from "node:child_process";
import { cpSync } from "node:fs";
import { mkdtemp, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";

export const ROOT: string = new URL("../..", import.meta.url).pathname;

/** With the Node that runs the tests. */
export const PATH: string = `${dirname(process.execPath)}${delimiter}${process.env["PATH"]}`;
/** The suites install the same packages again and again. */
export const QUIET: readonly string[] = [
  "--ignore-scripts",
  "--no-audit",
  "--no-fund",
  "--loglevel=error",
  "--prefer-offline",
];
const COMPILER = join(ROOT, "node_modules/.bin/tsc");
const NODE_TYPES = dirname(dirname(createRequire(import.meta.url).resolve("@types/node/package.json")));

/** The output and the exit status of a program. */
export interface ProgramResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program in a folder, on the Node that runs the tests. Resolves with any exit status. */
export async function runProgram(
  folder: string,
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<ProgramResult> {
  const options = { cwd: folder, env: { ...process.env, PATH, ...env }, maxBuffer: 2 ** 26 };
  return promisify(execFile)(program, args, options).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  );
}

/** Runs a program and returns its standard output. Throws if it fails. */
export async function runSuccessfully(
  folder: string,
  program: string,
  args: readonly string[],
  env?: Readonly<Record<string, string>>,
): Promise<string> {
  const { code, stdout, stderr } = await runProgram(folder, program, args, env);
  if (code !== 0) throw new Error(`${program} ${args.join(" ")} exited with ${code}\n${stdout}${stderr}`);
  return stdout;
}

export function newFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), "store-orders-installed-"));
}

/** Builds and packs the package as for the registry. Returns the path of the tarball. */
export async function packInto(folder: string): Promise<string> {
  await runSuccessfully(ROOT, process.execPath, [".config/build.ts"]);
  const [packed] = JSON.parse(
    await runSuccessfully(ROOT, "npm", ["pack", "--json", "--pack-destination", folder]),
  );
  return join(folder, packed.filename);
}

/** Installs packages, besides those in the folder's package.json. */
export async function install(folder: string, ...packages: string[]): Promise<void> {
  await runSuccessfully(folder, "npm", ["install", ...QUIET, ...packages]);
}

/**
 * Copies the folder in which the package is installed, and returns the new one, which is beside it. npm takes four
 * seconds of processor time for the package itself, and less than one for others that are added.
 */
export function copyInstalled(installed: string, name: string): string {
  const home = join(dirname(installed), name);
  // The asynchronous copy takes five times as much processor time.
  for (const each of ["package.json", "package-lock.json", "node_modules"])
    cpSync(join(installed, each), join(home, each), { recursive: true });
  return home;
}

/** Checks the types of files under strict TypeScript. Returns the compiler's output, which is empty without errors. */
export async function typeErrors(folder: string, files: readonly string[]): Promise<string> {
  const strict = ["--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess", "--skipLibCheck"];
  const modules = ["--module", "nodenext", "--target", "es2024", "--allowImportingTsExtensions", "--noEmit"];
  const node = ["--typeRoots", NODE_TYPES, "--types", "node"];
  const { stdout, stderr } = await runProgram(folder, COMPILER, [
    ...strict,
    ...modules,
    ...node,
    "--ignoreConfig",
    // Several threads take a third more processor time, which the suites beside this one need.
    "--singleThreaded",
    ...files,
  ]);
  return stdout + stderr;
}

export async function readJson(
  path: string,
): Promise<Readonly<Record<string, Readonly<Record<string, string>>>>> {
  return JSON.parse(await readFile(path, "utf8"));
}
