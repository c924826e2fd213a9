import { globSync, readFileSync, writeFileSync } from "node:fs";

/** Processor time of all threads in milliseconds, in steps of 10. NaN if the system has no /proc. */
export function processorTime(pid: number): number {
  const stat = read(`/proc/${pid}/stat`);
  // The program name is in brackets and may contain spaces.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11] ?? NaN) + Number(fields[12] ?? NaN)) * TICK;
}

/** The same without steps, for short measurements. Threads that have ended are left out. */
export function exactProcessorTime(pid: number): number {
  const threads = globSync(`/proc/${pid}/task/*/schedstat`);
  if (threads.length === 0) return NaN;
  return threads.reduce((sum, thread) => sum + Number(read(thread).split(" ")[0]) / 1e6, 0);
}

/** Resets the peak of resident memory to the current value. */
export function resetPeak(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, "5");
  } catch {
    // Without /proc there is no peak to reset.
  }
}

/** Resident memory in MiB: the peak and the current value. */
export function memory(pid: number): { readonly peak: number; readonly now: number } {
  const status = read(`/proc/${pid}/status`);
  const mebibytes = (name: string) =>
    Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1] ?? NaN) / 1024;
  return { peak: mebibytes("VmHWM"), now: mebibytes("VmRSS") };
}

/** Milliseconds per clock tick. Linux counts 100 ticks per second on every platform of Node. */
const TICK = 10;

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
