import { execFile } from "node:child_process";
import { mkdtemp, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";

/** The repository's own folder. */
export const ROOT: string = new URL("../..", import.meta.url).pathname;

const PATH = `${dirname(process.execPath)}${delimiter}${process.env["PATH"]}`;
const QUIET = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
const COMPILER = join(ROOT, "node_modules/.bin/tsc");
const NODE_TYPES = dirname(dirname(createRequire(import.meta.url).resolve("@types/node/package.json")));

/** What a program printed, and how it ended. */
export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program in a folder, on the Node that runs the tests; resolves however it ends. */
export async function run(folder: string, program: string, args: readonly string[]): Promise<Ended> {
  const options = { cwd: folder, env: { ...process.env, PATH }, maxBuffer: 2 ** 26 };
  return promisify(execFile)(program, args, options).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  );
}

/** Runs a program that has to end well; what it printed. */
export async function succeed(folder: string, program: string, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await run(folder, program, args);
  if (code !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${code}\n${stdout}${stderr}`);
  return stdout;
}

/** Makes a new folder for what a suite installs. */
export function newFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), "store-orders-installed-"));
}

/** Builds the package and packs it into a folder, as for the registry; the tarball's path. */
export async function packInto(folder: string): Promise<string> {
  await succeed(ROOT, process.execPath, ["lib/cli/build.ts"]);
  const [packed] = JSON.parse(await succeed(ROOT, "npm", ["pack", "--json", "--pack-destination", folder]));
  return join(folder, packed.filename);
}

/** Installs the tarball and other packages, in addition to what the folder's package.json names. */
export async function install(folder: string, tarball: string, ...others: string[]): Promise<void> {
  await succeed(folder, "npm", ["install", ...QUIET, tarball, ...others]);
}

/** Checks the types of files in a folder under strict TypeScript; what the compiler says, nothing where all is well. */
export async function typeErrors(folder: string, files: readonly string[]): Promise<string> {
  const strict = ["--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess", "--skipLibCheck"];
  const modules = ["--module", "nodenext", "--target", "es2024", "--allowImportingTsExtensions", "--noEmit"];
  const node = ["--typeRoots", NODE_TYPES, "--types", "node"];
  const { stdout, stderr } = await run(folder, COMPILER, [
    ...strict,
    ...modules,
    ...node,
    "--ignoreConfig",
    ...files,
  ]);
  return stdout + stderr;
}

/** A JSON file as an object. */
export async function readJson(
  path: string,
): Promise<Readonly<Record<string, Readonly<Record<string, string>>>>> {
  return JSON.parse(await readFile(path, "utf8"));
}
