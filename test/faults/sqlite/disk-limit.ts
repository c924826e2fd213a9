/** Simulates a full disk for a running process. */
import { execFileSync } from "node:child_process";

/**
 * Prevents the files of a process from growing beyond `bytes`: the kernel rejects the write, as with a full disk. Needs
 * neither root nor a mount. `unlimited` removes the limit.
 */
export function limitFiles(pid: number | undefined, bytes: number | "unlimited"): void {
  execFileSync("prlimit", ["--pid", `${pid}`, `--fsize=${bytes}:`]);
}

/** Why the limit is not available. `undefined` if it is. */
export function reasonToSkip(): string | undefined {
  try {
    execFileSync("prlimit", ["--version"], { stdio: "ignore" });
    return undefined;
  } catch {
    return "prlimit (util-linux) is not installed";
  }
}
