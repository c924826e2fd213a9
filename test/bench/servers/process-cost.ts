import { readFileSync, writeFileSync } from "node:fs";

/** Milliseconds on a processor in all threads since the start, in steps of 10; NaN where the system has no /proc. */
export function processorTime(pid: number): number {
  const stat = read(`/proc/${pid}/stat`);
  // The name of the program stands in brackets and may hold spaces.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11] ?? NaN) + Number(fields[12] ?? NaN)) * TICK;
}

/** Forgets the peak of resident memory, so that the next look tells the peak from now on. */
export function forgetPeak(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, "5");
  } catch {
    // Without /proc there is no peak either.
  }
}

/** Resident memory in MiB: its peak, and as it is now. */
export function memory(pid: number): { readonly peak: number; readonly now: number } {
  const status = read(`/proc/${pid}/status`);
  const mebi = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1] ?? NaN) / 1024;
  return { peak: mebi("VmHWM"), now: mebi("VmRSS") };
}

/** Linux counts in hundredths of a second on every machine that Node runs on. */
const TICK = 10;

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
