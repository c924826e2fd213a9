import { globSync, mkdtempSync, readFileSync } from "node:fs";
import { cp, rm, symlink, writeFile } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { basename, dirname, join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { copyInstalled, install, ROOT, readJson, runSuccessfully, typeErrors } from "./installed.ts";

/** The SDKs of Pulumi have hundreds of megabytes, so they are linked: the repository has the same versions. */
const LINKED = ["@pulumi", "esbuild"];

/** The examples of a test file, as workspaces of one folder, because npm takes as long for one of them as for all. */
interface Examples {
  /** The folder of an example. */
  homeOf(name: string): string;
  /** Runs an example, and returns the lines that it prints. */
  printed(name: string, env?: Readonly<Record<string, string>>): Promise<readonly string[]>;
}

/** Installs the package with what the examples need, and tests that each names what it imports, and compiles. */
export function useExamples(...names: readonly string[]): Examples {
  const installed = inject("installed");
  const folder = mkdtempSync(join(dirname(installed), "examples-"));
  const homeOf = (name: string) => join(folder, name);
  afterAll(() => rm(folder, { recursive: true, force: true }));

  beforeAll(async () => {
    for (const name of names) await cp(join(ROOT, "test/examples", name), homeOf(name), { recursive: true });
    const workspaces = names.filter((name) => !isProgram(name));
    copyInstalled(installed, basename(folder));
    const manifest = { ...(await readJson(join(folder, "package.json"))), workspaces };
    await writeFile(join(folder, "package.json"), JSON.stringify(manifest));
    await install(folder);
    if (workspaces.length === names.length) return;
    for (const linked of LINKED)
      await symlink(join(ROOT, "node_modules", linked), join(folder, "node_modules", linked));
  }, 300_000);

  test("the examples import only packages that they install, and compile", async () => {
    for (const name of names) {
      const installed = installedBy(name);
      const imported = importedBy(name);
      const types = imported.map((each) => `@types/${each}`).filter((each) => KNOWN_TYPES.has(each));
      expect([...installed, "store-orders"], name).toEqual(expect.arrayContaining([...imported, ...types]));
    }
    const { devDependencies = {} } = await readJson(join(ROOT, "package.json"));
    for (const name of names.filter(isProgram))
      for (const each of installedBy(name)) expect(dependenciesOf(name)[each]).toBe(devDependencies[each]);
    expect(
      await typeErrors(
        folder,
        names.flatMap((name) => globSync(`${name}/*.ts`, { cwd: folder })),
      ),
    ).toBe("");
  });

  return {
    homeOf,
    async printed(name, env) {
      return (await runSuccessfully(homeOf(name), "node", ["main.ts"], env)).trim().split("\n");
    },
  };
}

function dependenciesOf(name: string): Readonly<Record<string, string>> {
  const file = join(ROOT, "test/examples", name, "package.json");
  const { dependencies, devDependencies } = JSON.parse(readFileSync(file, "utf8"));
  return { ...dependencies, ...devDependencies };
}

const installedBy = (name: string) => Object.keys(dependenciesOf(name));
const isProgram = (name: string) => installedBy(name).some((each) => each.startsWith("@pulumi/"));

/** The packages that an example imports, which other examples in the folder could have installed. */
function importedBy(name: string): readonly string[] {
  const home = join(ROOT, "test/examples", name);
  const specifiers = globSync("**/*.{ts,js}", { cwd: home }).flatMap((file) =>
    [
      ...readFileSync(join(home, file), "utf8").matchAll(
        /(?:\bfrom|\bimport\(|\bresolve\() ?"([^."][^"]*)"/g,
      ),
    ].map(([, specifier = ""]) => specifier),
  );
  const packages = specifiers
    .filter((specifier) => !isBuiltin(specifier))
    .map((specifier) => specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/"));
  return [...new Set(packages)];
}

/** The types that some example has to install, because their package contains none. */
const KNOWN_TYPES: ReadonlySet<string> = new Set(
  globSync("*/package.json", { cwd: join(ROOT, "test/examples") })
    .flatMap((file) => installedBy(file.replace("/package.json", "")))
    .filter((each) => each.startsWith("@types/")),
);
