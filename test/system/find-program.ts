import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { skipsBecause } from "../support/skip-reason.ts";

/**
 * The path of a program that Debian's package installs, also in /usr/sbin. If it is missing, the reason for skipping
 * its tests is printed, and the result is `undefined`.
 */
export function findProgram(name: string, debianPackage: string = name): string | undefined {
  const found = findExecutable(name);
  const reason = `it is not on PATH or in /usr/sbin; install it with: apt-get install ${debianPackage}`;
  skipsBecause(`The tests of ${name}`, found === undefined ? reason : undefined);
  return found;
}

/** The path of a program on the path or in /usr/sbin; `undefined` if missing. */
export function findExecutable(name: string): string | undefined {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin"];
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
