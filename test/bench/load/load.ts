import { execFile, execFileSync } from "node:child_process";
import { get } from "node:http";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startChild } from "../../support/child.ts";
import { memory, processorTime } from "../../support/process-cost.ts";
import type { Figures } from "../rounds.ts";
import { type Program, start } from "../servers/server-process.ts";

export interface Load {
  readonly method: "GET" | "DELETE";
  /** The path or, with `firstId`, the part before the identifier. */
  readonly path: string;
  /** The identifier before the first one. Each request uses the next. */
  readonly firstId?: number;
  /** Used in turn. */
  readonly keys: readonly string[];
  readonly connections: number;
}

const run = promisify(execFile);
const SCRIPT = fileURLToPath(new URL("requests.lua", import.meta.url));

/** Throws if the load generator is missing. It uses little of the machine, of which the server needs the rest. */
export function requireWrk(): void {
  try {
    execFileSync("wrk", ["-v"], { stdio: "ignore" });
  } catch (error) {
    // `wrk -v` prints its version and exits with 1.
    if ((error as NodeJS.ErrnoException).code === "ENOENT")
      throw new Error("wrk is missing. Install it with: apt-get install wrk");
  }
}

async function runWrk(url: string, load: Load, seconds: number) {
  const settings = ["-t1", `-c${load.connections}`, `-d${seconds}s`, "--timeout", "30s", "-s", SCRIPT];
  const requestArgs = [load.method, load.path, `${load.firstId ?? "-"}`, ...load.keys];
  const { stdout } = await run("wrk", [...settings, url, "--", ...requestArgs]);
  return JSON.parse(stdout.slice(stdout.lastIndexOf('{"requests"'))) as {
    readonly requests: number;
    readonly seconds: number;
    /** Responses with a status of 400 or above. */
    readonly rejected: number;
    /** Requests without a response. */
    readonly failed: number;
  };
}

/** Starts a server, lets it warm up for a second, loads it, and stops it. */
export async function measureUnderLoad(program: Program, load: Load, seconds: number): Promise<Figures> {
  const server = await start(program);
  try {
    const warmUp = await runWrk(server.url, load, 1);
    // Requests in flight at the end have used their identifiers too.
    const used = warmUp.requests + 2 * load.connections;
    const measured = load.firstId === undefined ? load : { ...load, firstId: load.firstId + used };
    const before = processorTime(server.pid);
    const { requests, failed, rejected, ...result } = await runWrk(server.url, measured, seconds);
    const processor = processorTime(server.pid) - before;
    if (failed > 0) throw new Error(`${failed} requests got no response.`);
    return {
      rate: requests / result.seconds,
      processor: (processor * 1_000) / requests,
      peak: memory(server.pid).peak,
      rejected: rejected / requests,
    };
  } finally {
    await server.stop();
  }
}

/** Reads a response as fast as possible, and discards it. Times in milliseconds. */
export function download(url: string, key: string) {
  return new Promise<{ readonly firstByte: number; readonly total: number; readonly bytes: number }>(
    (resolve, reject) => {
      const startedAt = performance.now();
      let [firstByte, bytes] = [NaN, 0];
      const request = get(url, { headers: { authorization: `Bearer ${key}` }, agent: false }, (response) => {
        if (response.statusCode !== 200) reject(new Error(`${url} returned ${response.statusCode}.`));
        response.on("data", (chunk: Buffer) => {
          if (bytes === 0) firstByte = performance.now() - startedAt;
          bytes += chunk.length;
        });
        response.on("end", () => resolve({ firstByte, total: performance.now() - startedAt, bytes }));
        response.on("error", reject);
      });
      request.on("error", reject);
    },
  );
}

/** The longest latency of small requests from another process during `work`, in milliseconds. */
export async function worstLatency(url: string, key: string, work: () => Promise<unknown>): Promise<number> {
  const probe = startChild(new URL("latency-probe-process.ts", import.meta.url), [url, key]);
  await probe.nextMessage();
  await work();
  probe.send("stop");
  const longest = await probe.nextMessage<number>();
  await probe.end();
  return longest;
}
