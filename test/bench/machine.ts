import { closeSync, fsyncSync, openSync, writeSync } from "node:fs";
import { availableParallelism, cpus, loadavg, release, totalmem, type } from "node:os";
import { join } from "node:path";
import { median } from "./rounds.ts";

/** Describes the machine, its software and the speed of its disk. */
export function describeMachine(folder: string): string {
  const [processor] = cpus();
  const memory = Math.round(totalmem() / 2 ** 30);
  const { node, sqlite = "" } = process.versions;
  return [
    `${new Date().toISOString().slice(0, 10)}, ${availableParallelism()} × ${processor?.model.trim() ?? "unknown processor"}`,
    `${memory} GiB, ${type()} ${release()}, Node ${node}, SQLite ${sqlite}`,
    `one flush to disk takes ${flushTime(folder).toFixed(2)} ms`,
    `load average before the run ${loadavg()[0]?.toFixed(1)}`,
  ].join(", ");
}

/** The median time to append and flush 4 KiB, in milliseconds. */
function flushTime(folder: string): number {
  const file = openSync(join(folder, "flush"), "w");
  const page = Buffer.alloc(4096);
  const times = Array.from({ length: 100 }, () => {
    const startedAt = performance.now();
    writeSync(file, page);
    fsyncSync(file);
    return performance.now() - startedAt;
  });
  closeSync(file);
  return median(times);
}
