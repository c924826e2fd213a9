import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/**
 * The path of a program that Debian's package installs, also in /usr/sbin. If it is missing, the reason for skipping
 * its tests is printed, and the result is `undefined`.
 */
export function findProgram(name: string, debianPackage: string = name): string | undefined {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin"];
  const found = folders.map((folder) => join(folder, name)).find(isExecutable);
  if (found === undefined) {
    process.stdout.write(
      `Skipped: no ${name} on PATH or in /usr/sbin. Install it with: apt-get install ${debianPackage}\n`,
    );
  }
  return found;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
