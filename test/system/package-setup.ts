/** Packs the package once for all suites that use it, and installs it in a folder without any optional package. */
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { install, newFolder, packInto } from "./installed.ts";
import { installLinked } from "./linked-packages.ts";

declare module "vitest" {
  export interface ProvidedContext {
    readonly tarball: string;
    readonly installed: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  installLinked();
  const home = await newFolder();
  const tarball = await packInto(home);
  const installed = join(home, "installed");
  await mkdir(installed);
  await writeFile(join(installed, "package.json"), '{"type":"module","private":true}');
  await install(installed, tarball);
  project.provide("tarball", tarball);
  project.provide("installed", installed);
  return () => rm(home, { recursive: true, force: true });
}
