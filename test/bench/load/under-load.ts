import type { Bench } from "../job.ts";
import type { Sample } from "../rounds.ts";
import { memory, processorTime } from "../servers/process-cost.ts";
import { type Program, type RunningServer, start } from "../servers/server-process.ts";
import type { Load } from "./load.ts";

/** The figures of a server under load. */
export type ServerLoadSample = Sample<"rate" | "processor" | "p50" | "p99" | "peak" | "rejected">;

/** Starts a server, lets it warm up, loads it, and stops it. */
export async function measureUnderLoad(
  { load: generator, seconds, quick }: Bench,
  program: Program,
  load: Omit<Load, "seconds">,
): Promise<ServerLoadSample> {
  const server = await start(program);
  try {
    const warmUp = quick ? 0 : await warmServer(server);
    const before = processorTime(server.pid);
    const result = await generator.run(server.url, { ...load, ...startingAfter(warmUp), seconds });
    const processor = processorTime(server.pid) - before;
    if (result.failed > 0) throw new Error(`${result.failed} requests got no response.`);
    return {
      rate: result.requests / result.seconds,
      processor: (processor * 1000) / result.requests,
      p50: result.p50,
      p99: result.p99,
      peak: memory(server.pid).peak,
      rejected: result.rejected / result.requests,
    };
  } finally {
    await server.stop();
  }

  async function warmServer({ url }: RunningServer): Promise<number> {
    const { requests } = await generator.run(url, { ...load, seconds: 1 });
    // Requests in flight at the end have used their identifiers too.
    return requests + 2 * CONNECTIONS;
  }

  function startingAfter(used: number) {
    return load.firstId === undefined ? {} : { firstId: load.firstId + used };
  }
}

const CONNECTIONS = 32;
