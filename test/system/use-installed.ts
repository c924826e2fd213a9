import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { install, newFolder, packInto } from "./installed.ts";

/** The packed package, and a folder in which it is installed without any optional package. */
interface Installation {
  readonly tarball: string;
  readonly folder: string;
  /** A temporary folder, which has both. */
  readonly home: string;
}

/** Packs and installs the package for the tests of a file. It can be used once the tests run. */
export function useInstalledPackage(): Installation {
  let home = "";
  let tarball = "";
  let folder = "";
  beforeAll(async () => {
    home = await newFolder();
    tarball = await packInto(home);
    folder = join(home, "clean");
    await mkdir(folder);
    await writeFile(join(folder, "package.json"), '{"type":"module","private":true}');
    await install(folder, tarball);
  }, 240_000);
  afterAll(() => rm(home, { recursive: true, force: true }));
  return {
    get home() {
      return home;
    },
    get tarball() {
      return tarball;
    },
    get folder() {
      return folder;
    },
  };
}
