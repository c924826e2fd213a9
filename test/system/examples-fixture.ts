import { cpSync, globSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { afterAll, expect, inject, test } from "vitest";
import { ROOT, readJson, runSuccessfully, typeErrors } from "./installed.ts";
import { newFolderWith, packagesOf } from "./linked-packages.ts";

/** The SDKs of Pulumi have hundreds of megabytes, so they are linked: the repository has the same versions. */
const LINKED = ["@pulumi", "esbuild"];

interface Examples {
  homeOf(name: string): string;
  /** Runs an example, and returns the lines that it prints. */
  printed(name: string, env?: Readonly<Record<string, string>>): Promise<readonly string[]>;
}

/** Copies examples beside the package and what they need, and tests that each names what it imports, and compiles. */
export function useExamples(...names: readonly string[]): Examples {
  const others = names.filter((name) => !isProgram(name));
  const folder = newFolderWith(inject("installed"), Object.assign({}, ...others.map(dependenciesOf)));
  const homeOf = (name: string) => join(folder, name);
  for (const name of names)
    cpSync(join(ROOT, "test/examples", name), homeOf(name), { recursive: true, filter: isSource });
  if (others.length < names.length)
    for (const linked of LINKED)
      symlinkSync(join(ROOT, "node_modules", linked), join(folder, "node_modules", linked));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

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

/** False for what an example leaves that was run where it lies. */
const isSource = (path: string) => !/\/(?:node_modules|\.next|[^/]*\.db)$/.test(path);
const dependenciesOf = (name: string) => packagesOf(`test/examples/${name}/package.json`);
const installedBy = (name: string) => Object.keys(dependenciesOf(name));
const isProgram = (name: string) => installedBy(name).some((each) => each.startsWith("@pulumi/"));

/** The packages that an example imports, which other examples in the folder could have installed. */
function importedBy(name: string): readonly string[] {
  const home = join(ROOT, "test/examples", name);
  const specifiers = globSync("{*,app/**/*}.{ts,js}", { cwd: home }).flatMap((file) =>
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
