import type { Command } from "commander";
import { withRejectionCache } from "../../accounts/rejection-cache.ts";
import { InvalidInputError } from "../../errors.ts";
import { accessLine } from "../../http/access-log.ts";
import { BASE_PATH } from "../../http/operations.ts";
import type { NodeServer, NodeServerOptions } from "../../node/server.ts";
import { port } from "../arguments.ts";
import { type CommandContext, globalFlags, withNewStore } from "../context.ts";
import { DEMO_ACCOUNT, seedDemo } from "../demo.ts";
import { EXIT } from "../exit-status.ts";
import { printResult } from "../results.ts";
import { environmentOf, listenOn } from "../settings.ts";
import type { Terminal } from "../terminal.ts";

interface ServeFlags {
  readonly host?: string;
  readonly port?: number;
  readonly domains?: string;
  readonly trustProxy?: boolean;
  readonly demo?: boolean;
}

/** `serve`: the API over HTTP, until the process is asked to stop. */
export function addServeCommand(parent: Command, context: CommandContext): void {
  parent
    .command("serve")
    .description("Serve the API. SIGTERM lets requests finish (10 s), then ends with 0.")
    .option("--host <host>", "the address to listen on (HOST; default 127.0.0.1)")
    .option("--port <port>", "the port to listen on, 0 for any (PORT; default 8787)", port)
    .option("--domains <file>", "custom domains to serve and redirect (STORE_ORDERS_DOMAINS)")
    .option("--trust-proxy", "take callers' addresses from the last entry of X-Forwarded-For")
    .option("--demo", `fill an empty database with the account ${DEMO_ACCOUNT}, a key and some orders`)
    .addHelpText("after", HELP)
    .action(async (flags: ServeFlags, command: Command) => {
      const { env: variables, terminal, clock } = context;
      const { trustProxy = false, demo = false } = flags;
      const address = listenOn(flags, variables);
      const environment = environmentOf(variables);
      // Loaded here, so that no other command waits for a server that it does not need.
      const { createHandler } = await import("../../http/handler.ts");
      const { docsPage, NodeResponse, startNodeServer } = await import("../../node/index.ts");
      await withNewStore(context, command, async ({ store, name }) => {
        const stopped = context.stopped();
        const hosts = await hostsOf(
          flags.domains ?? variables["STORE_ORDERS_DOMAINS"],
          address.host,
          terminal,
        );
        const { orders, accounts } = store;
        const handler = createHandler({
          // A flood of refused requests costs the store one call a second for each key.
          store: { orders, accounts: withRejectionCache(accounts) },
          clock,
          Response: NodeResponse,
          pages: docsPage(),
          ...(hosts === undefined ? {} : { hosts }),
          onRequest: (event) => terminal.tell(accessLine(event, new Date(clock()))),
        });
        // A key is shown once, so nothing is made before it is certain that it will be.
        const server = await listening(startNodeServer, { handler, ...address, trustProxy });
        try {
          const key = demo ? await seedDemo(store, environment, clock) : undefined;
          const api = `${server.url}${BASE_PATH}`;
          const shown = { url: api, docs: `${server.url}/docs`, database: name, key: key ?? null };
          if (globalFlags(command).json) await printResult(context, command, shown);
          else await terminal.print(block(shown));
          if (demo && key === undefined) terminal.tell(NOT_EMPTY);
          await stopped;
        } finally {
          await server.close();
        }
        return EXIT.done;
      });
    });
}

const HELP = `
Examples:
  $ store-orders serve
  $ store-orders serve --demo --database demo.db
  $ store-orders serve --host 0.0.0.0 --port 9000 --trust-proxy
  $ store-orders serve --domains domains.yaml

Every request is a line of JSON on standard error.`;

const NOT_EMPTY =
  "The database is in use already, so nothing was added to it. A key is shown only when it is issued; " +
  `'keys issue --account ${DEMO_ACCOUNT}' makes another.`;

/**
 * The hosts of a domains file, if there is one. Beside them serve the names that a server has without any
 * configuration (decision 22).
 */
async function hostsOf(file: string | undefined, host: string, { tell }: Terminal) {
  if (file === undefined || file === "") return undefined;
  const { watchedHosts } = await import("../domains-file.ts");
  return watchedHosts(
    file,
    ["localhost", "127.0.0.1", "[::1]", host.includes(":") ? `[${host}]` : host],
    tell,
  );
}

function block(shown: { url: string; docs: string; database: string; key: string | null }): string {
  const { url, docs, database, key } = shown;
  const lines = [`Store Orders   ${url}`, `docs           ${docs}`, `database       ${database}`];
  if (key !== null) {
    lines.push(`key            ${key}            shown once`);
    lines.push(`try            curl -H 'Authorization: Bearer ${key}' ${url}/store/orders`);
  }
  return `${lines.join("\n")}\n`;
}

/** What a person can mend about an address, by the system's code for it. */
const ADDRESS_ERRORS: Readonly<Record<string, string>> = {
  EADDRINUSE: "is in use. Stop what listens there, or give another with --port.",
  EACCES: "needs more rights. Give a port above 1023 with --port.",
  EADDRNOTAVAIL: "is not an address of this machine. Give another with --host.",
  ENOTFOUND: "is not a known host. Give another with --host.",
};

async function listening(
  start: (options: NodeServerOptions) => Promise<NodeServer>,
  options: NodeServerOptions,
): Promise<NodeServer> {
  try {
    return await start(options);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? `${error.code}` : "";
    const mend =
      ADDRESS_ERRORS[code] ?? `cannot be listened on (${code}). Give another with --host or --port.`;
    throw new InvalidInputError([{ path: "", message: `${options.host}:${options.port} ${mend}` }]);
  }
}
