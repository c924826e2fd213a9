import type { Bench } from "../job.ts";
import type { Sample } from "../rounds.ts";
import { memory, processorTime } from "../servers/process-cost.ts";
import { type Program, type RunningServer, start } from "../servers/server-process.ts";
import type { Load } from "./load.ts";

/** What is told of a server under load. */
export type UnderLoad = Sample<"rate" | "processor" | "p50" | "p99" | "peak" | "refused">;

/** Starts a server, lets it warm up, loads it, and stops it. */
export async function underLoad(
  { load: generator, seconds, quick }: Bench,
  program: Program,
  load: Omit<Load, "seconds">,
): Promise<UnderLoad> {
  const server = await start(program);
  try {
    const warmUp = quick ? 0 : await warmedUp(server);
    const before = processorTime(server.pid);
    const result = await generator.run(server.url, { ...load, ...from(warmUp), seconds });
    const processor = processorTime(server.pid) - before;
    if (result.failed > 0) throw new Error(`${result.failed} requests were not answered.`);
    return {
      rate: result.requests / result.seconds,
      processor: (processor * 1000) / result.requests,
      p50: result.p50,
      p99: result.p99,
      peak: memory(server.pid).peak,
      refused: result.refused / result.requests,
    };
  } finally {
    await server.stop();
  }

  async function warmedUp({ url }: RunningServer): Promise<number> {
    const { requests } = await generator.run(url, { ...load, seconds: 1 });
    // Some were on their way when the time was up, and have taken their identifiers.
    return requests + 2 * CONNECTIONS;
  }

  function from(used: number) {
    return load.firstId === undefined ? {} : { firstId: load.firstId + used };
  }
}

const CONNECTIONS = 32;
