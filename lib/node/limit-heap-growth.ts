import { PerformanceObserver } from "node:perf_hooks";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
import { canChangeFlag, type StartOptions } from "./v8-flags.ts";

/**
 * Where the young generation stops growing. A larger one is not faster. From a smaller one, short-lived objects of many
 * connections get into the old generation, and a flood takes more memory.
 */
const MAX_YOUNG_GENERATION_BYTES = 16 * 2 ** 20;

let isLimited = false;

/**
 * Keeps the memory of a loaded server small, by about 50 MiB:
 *
 * - It stops the growth of V8's young generation, where short-lived objects are, at 16 MiB. Without a limit it takes about
 *   40 MiB more, of which little is in use.
 * - It frees the memory of V8's optimizing compiler as soon as a function is compiled. Otherwise a thread of low priority
 *   does it, and while a server is busy, about 10 MiB wait for it.
 *
 * `startNodeServer` calls it once it listens, and so does a server of your own: `limitHeapGrowth(process)`. It applies to
 * the whole process with its worker threads. What a flag of Node sets, it leaves alone. It changes nothing in another
 * runtime, or in a version of Node other than 24.
 */
export function limitHeapGrowth(start: StartOptions): void {
  if (!isLimited && canChangeFlag("semi-space", start)) limitYoungGeneration();
  if (canChangeFlag("maglev-destroy", start)) setFlagsFromString("--no-maglev-destroy-on-background");
}

/**
 * V8 can only be told by what factor to grow. An idle process shrinks the generation, and then it may grow again. While
 * V8 marks the old generation, the young one may exceed its size, by up to 8 MiB where this was measured.
 */
function limitYoungGeneration(): void {
  isLimited = true;
  let mayGrow = true;
  const observer = new PerformanceObserver(() => {
    const isSmall = youngGenerationBytes() < MAX_YOUNG_GENERATION_BYTES;
    if (isSmall === mayGrow) return;
    mayGrow = isSmall;
    setFlagsFromString(`--semi-space-growth-factor=${mayGrow ? 2 : 1}`);
  });
  observer.observe({ entryTypes: ["gc"] });
}

function youngGenerationBytes(): number {
  return getHeapSpaceStatistics().find((space) => space.space_name === "new_space")?.space_size ?? 0;
}
