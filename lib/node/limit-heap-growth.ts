import { PerformanceObserver } from "node:perf_hooks";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

/**
 * Where the young generation stops growing. A larger one is not faster. From a smaller one, short-lived objects of many
 * connections get into the old generation, and a flood takes more memory.
 */
const MAX_YOUNG_GENERATION_BYTES = 16 * 2 ** 20;

/** The versions of V8 that this was tested with, in Node 24 to 26. Others might not know the flags. */
const TESTED_V8 = /^1[34]\./;

/** How the process was started; `process` has both. */
export interface StartOptions {
  /** The flags of Node. */
  readonly execArgv: readonly string[];
  /** The environment; `NODE_OPTIONS` is read. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

let isLimited = false;

/**
 * Keeps the memory of a loaded server small: stops the growth of V8's young generation, where short-lived objects are, at
 * 16 MiB. Otherwise it takes about 40 MiB more, of which little is in use.
 *
 * Call it in an entry file, once the server listens: `limitHeapGrowth(process)`. It applies to the whole process with its
 * worker threads. It changes nothing if a flag of Node sets the size, or in a version of V8 other than 13 and 14.
 */
export function limitHeapGrowth({ execArgv, env }: StartOptions): void {
  const flags = [...execArgv, env["NODE_OPTIONS"] ?? ""].join(" ").replaceAll("_", "-");
  if (isLimited || flags.includes("semi-space") || !TESTED_V8.test(process.versions.v8)) return;
  isLimited = true;
  limitYoungGeneration();
}

/** V8 can only be told by what factor to grow. An idle process shrinks the generation, and then it may grow again. */
function limitYoungGeneration(): void {
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
