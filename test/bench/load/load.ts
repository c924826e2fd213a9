import { execFile, execFileSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { PEERS_HOME } from "../install-peers.ts";

/** The requests to send, and for how long. */
export interface Load {
  readonly method: "GET" | "DELETE";
  /** The path or, with `firstId`, the part before the identifier. */
  readonly path: string;
  /** The identifier before the first one. Each request uses the next. */
  readonly firstId?: number;
  /** Used in turn. */
  readonly keys: readonly string[];
  readonly seconds: number;
  /** @default 32 */
  readonly connections?: number;
}

/** The result of a load. Latencies in milliseconds. */
export interface LoadResult {
  readonly requests: number;
  readonly seconds: number;
  readonly p50: number;
  readonly p99: number;
  /** Responses with a status of 400 or above. */
  readonly rejected: number;
  /** Requests without a response. */
  readonly failed: number;
}

/** Sends load to a server from another process. */
export interface LoadGenerator {
  readonly name: string;
  run(url: string, load: Load): Promise<LoadResult>;
}

const run = promisify(execFile);
const SCRIPT = fileURLToPath(new URL("requests.lua", import.meta.url));

const wrk: LoadGenerator = {
  name: "wrk",
  async run(url, { method, path, firstId, keys, seconds, connections = 32 }) {
    const settings = ["-t1", `-c${connections}`, `-d${Math.max(1, Math.round(seconds))}s`, "-s", SCRIPT];
    const requestArgs = [method, path, `${firstId ?? "-"}`, ...keys];
    const { stdout } = await run("wrk", [...settings, url, "--", ...requestArgs]);
    return JSON.parse(stdout.slice(stdout.lastIndexOf('{"requests"')));
  },
};

const autocannon: LoadGenerator = {
  name: "autocannon",
  async run(url, { connections = 32, ...load }) {
    const program = join(PEERS_HOME, "autocannon-load.mjs");
    const { stdout } = await run(process.execPath, [program, JSON.stringify({ url, connections, ...load })]);
    return JSON.parse(stdout);
  },
};

/** wrk if it is installed, because it uses less of the machine, otherwise autocannon. */
export function findLoadGenerator(): LoadGenerator {
  try {
    execFileSync("wrk", ["-v"], { stdio: "ignore" });
  } catch (error) {
    // `wrk -v` prints its version and exits with 1.
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return autocannon;
  }
  return wrk;
}
