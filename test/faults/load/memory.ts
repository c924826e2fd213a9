/** The memory use of a process after garbage collection. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Bytes. */
export interface Memory {
  /** Objects, and the buffers outside the heap that belong to them. */
  readonly held: number;
  readonly resident: number;
}

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

/** Collects the garbage of this process, and measures its memory. */
export async function memoryNow(): Promise<Memory> {
  for (let round = 0; round < 3; round++) {
    collect();
    // Finalizers run between turns of the event loop.
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { heapUsed, external, rss } = process.memoryUsage();
  return { held: heapUsed + external, resident: rss };
}
