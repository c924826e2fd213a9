import { execFile, execFileSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { PEERS_HOME } from "../install-peers.ts";

/** What to send, and for how long. */
export interface Load {
  readonly method: "GET" | "DELETE";
  /** The path or, with `firstId`, what stands before the identifier. */
  readonly path: string;
  /** The identifier before the first one; each request takes the next. */
  readonly firstId?: number;
  /** Sent in turn. */
  readonly keys: readonly string[];
  readonly seconds: number;
  /** @default 32 */
  readonly connections?: number;
}

/** What came of it. Latencies in milliseconds. */
export interface LoadResult {
  readonly requests: number;
  readonly seconds: number;
  readonly p50: number;
  readonly p99: number;
  /** Answers with a status of 400 and more. */
  readonly refused: number;
  /** Requests without an answer. */
  readonly failed: number;
}

/** Sends load to a server from a process of its own. */
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
    const what = [method, path, `${firstId ?? "-"}`, ...keys];
    const { stdout } = await run("wrk", [...settings, url, "--", ...what]);
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

/** wrk where it is on the path, since it takes least from the server; autocannon otherwise. */
export function findLoadGenerator(): LoadGenerator {
  try {
    execFileSync("wrk", ["-v"], { stdio: "ignore" });
  } catch (error) {
    // It ends with 1 when it has told its version.
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return autocannon;
  }
  return wrk;
}
