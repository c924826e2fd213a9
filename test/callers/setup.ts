import { execFileSync } from "node:child_process";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { homeOfPackages, installPackages } from "../support/install-packages.ts";

const HOME = homeOfPackages("callers");
const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const pythonOf = (requirements: string) => join(HOME, requirements, "bin/python");

/** Python with the packages of `requirements.txt`, and with niquests, which replaces urllib3, so it is alone. */
export const PYTHON: string = pythonOf("requirements");
export const PYTHON_NIQUESTS: string = pythonOf("requirements-niquests");

/** Why the clients of PyPI do not run here, for `skipsBecause()`. */
export const noPython: () => string | undefined = () =>
  [PYTHON, PYTHON_NIQUESTS].every((python) => existsSync(python))
    ? undefined
    : "there is no python3 with venv, or PyPI cannot be reached";

/** Installs the clients of npm and of PyPI. */
export default function setup(): void {
  installPackages(here("."), HOME);
  for (const requirements of ["requirements", "requirements-niquests"]) installPython(requirements);
}

function installPython(requirements: string): void {
  const home = join(HOME, requirements);
  try {
    execFileSync("python3", ["-m", "venv", home]);
    const options = ["--quiet", "--disable-pip-version-check", "--requirement", here(`${requirements}.txt`)];
    execFileSync(pythonOf(requirements), ["-m", "pip", "install", ...options]);
  } catch {
    rmSync(home, { recursive: true, force: true });
  }
}
