/** A disk without room for a process, taken and given back while it runs. */
import { execFileSync } from "node:child_process";

/**
 * Lets no file of a process grow beyond `bytes`: the kernel refuses the write, as a full disk does, and neither root
 * nor a mount is needed. `unlimited` gives the room back.
 */
export function limitFiles(pid: number | undefined, bytes: number | "unlimited"): void {
  execFileSync("prlimit", ["--pid", `${pid}`, `--fsize=${bytes}:`]);
}

/** Why there is no such limit here; none: there is one. */
export function noLimitBecause(): string | undefined {
  try {
    execFileSync("prlimit", ["--version"], { stdio: "ignore" });
    return undefined;
  } catch {
    return "prlimit (util-linux) is not on this machine";
  }
}
