import type { Command } from "commander";
import { errorMessage, invalidInput } from "../../core/errors.ts";
import { findBasePathProblem } from "../../http/path.ts";
import { Agent, formatHost, get } from "../../node/listen.ts";
import { checkedBy } from "../arguments.ts";
import type { CommandContext } from "../context.ts";
import { type ListenAddress, readListenAddress, readPort } from "../listen.ts";
import { printResult } from "../output.ts";

export function defineHealth(command: Command, context: CommandContext): void {
  command
    .option("--host <host>", "the address that 'serve' listens on (HOST; default: 127.0.0.1)")
    .option("--port <port>", "the port that 'serve' listens on (PORT; default: 8787)", readPort)
    .option("--base-path <path>", "the --base-path of 'serve'", checkedBy(findBasePathProblem))
    .addHelpText("after", HELP)
    .action(async ({ basePath = "", ...flags }: Partial<ListenAddress> & { readonly basePath?: string }) => {
      const { host, port } = readListenAddress(flags, context.env);
      if (port === 0) throw invalidInput("--port or PORT", "Give the port that 'serve' has printed.");
      const url = `http://${formatHost(ANY_ADDRESS.get(host) ?? host)}:${port}${basePath}/healthz`;
      const status = await readStatus(url).catch(errorMessage);
      if (status === 200) await printResult(context, { url, status });
      else context.fail({ code: "unhealthy", message: `${url}: ${status}. ${HINT}` });
    });
}

/** A server that listens on every address is asked on loopback. */
const ANY_ADDRESS = new Map([
  ["0.0.0.0", "127.0.0.1"],
  ["::", "::1"],
]);

const HINT = "Check that 'serve' runs, with the same --host, --port and --base-path.";
const MAX_WAIT_MS = 4_000;

/** The status of a response. Its agent is a new one, because that of the process may use a proxy. */
function readStatus(url: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const options = { agent: new Agent(), signal: AbortSignal.timeout(MAX_WAIT_MS) };
    get(url, options, (response) => resolve(response.resume().statusCode)).on("error", reject);
  });
}

const HELP = `
Exits with 1 unless the server answers within ${MAX_WAIT_MS / 1_000} seconds that it is healthy. No proxy of the environment is used.

Examples:
  $ store-orders health --port 9000 --base-path /shop`;
