import { globSync, mkdtempSync } from "node:fs";
import { cp, mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, inject } from "vitest";
import { install, ROOT, readJson, runSuccessfully, typeErrors } from "./installed.ts";

/** Installs examples in a folder of the test file. */
interface Examples {
  readonly folder: string;
  /** Copies an example to a new directory, installs the package there, and checks the types. */
  installExample(name: string): Promise<string>;
  /** Does the same with an example that is a Pulumi program. */
  installProgram(name: string): Promise<string>;
}

export function useExamples(): Examples {
  const folder = mkdtempSync(join(tmpdir(), "store-orders-examples-"));
  afterAll(() => rm(folder, { recursive: true, force: true }));
  const tarball = inject("tarball");

  async function expectTypes(home: string): Promise<string> {
    expect(await typeErrors(home, globSync("*.ts", { cwd: home }))).toBe("");
    return home;
  }

  return {
    folder,
    async installExample(name) {
      const home = join(folder, name);
      await cp(join(ROOT, "test/examples", name), home, { recursive: true });
      await install(home, tarball);
      return expectTypes(home);
    },

    // The SDKs have hundreds of megabytes, so they are linked: the repository has the same versions.
    async installProgram(name) {
      const example = join(ROOT, "test/examples", name);
      const home = join(folder, name);
      const { dependencies } = await readJson(join(example, "package.json"));
      const { devDependencies } = await readJson(join(ROOT, "package.json"));
      expect(devDependencies).toMatchObject(dependencies ?? {});

      await mkdir(home);
      for (const file of globSync("*.ts", { cwd: example })) await cp(join(example, file), join(home, file));
      await writeFile(join(home, "package.json"), '{"type":"module","private":true}');
      await install(home, tarball);
      for (const linked of ["@pulumi", "esbuild"])
        await symlink(join(ROOT, "node_modules", linked), join(home, "node_modules", linked));
      return expectTypes(home);
    },
  };
}

/** Returns the lines that an example prints. */
export async function printed(
  home: string,
  env?: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  return (await runSuccessfully(home, "node", ["main.ts"], env)).trim().split("\n");
}
