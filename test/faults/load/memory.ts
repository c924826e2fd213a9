/** What a process takes, looked at after the garbage has been collected. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Bytes. */
export interface Memory {
  readonly heap: number;
  readonly resident: number;
}

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

/** Collects the garbage of this process and tells what is left. */
export async function memoryNow(): Promise<Memory> {
  for (let round = 0; round < 3; round++) {
    collect();
    // Finalizers run between turns of the event loop.
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { heapUsed, rss } = process.memoryUsage();
  return { heap: heapUsed, resident: rss };
}
