import { type Command, Option } from "commander";
import { PLANS } from "../../plans/plan-limits.ts";
import { readPort } from "../arguments.ts";
import type { ConsoleDomainsFlags } from "../console-domains.ts";
import { type CommandContext, globalFlags, withStore } from "../context.ts";
import { EXIT } from "../exit-status.ts";
import { listenOn } from "../listen.ts";
import { printResult } from "../results.ts";
import { chooseStore, readEnvironment } from "../settings.ts";

/** The options of `console`. */
interface ConsoleFlags extends ConsoleDomainsFlags {
  readonly port: number;
}

/** `console`: a page to manage the store with, on this machine, until a signal stops it. */
export function addConsoleCommand(parent: Command, context: CommandContext): void {
  parent
    .command("console")
    .description("Serves a page on this machine that shows and manages accounts, orders and domains.")
    .option("--port <port>", "the port to listen on, 0 for a free one", readPort, 0)
    .option("--domains <file>", "the domains file that 'serve' reads (STORE_ORDERS_DOMAINS)")
    .addOption(new Option("--plan <plan>", PLAN_HELP).choices(PLANS))
    .option("--target <host>", "the platform host that the records of the domains file point to")
    .option("--stack <file>", "the outputs of a stack instead of a domains file, or - for standard input")
    .option("--resolver <address>", "the DNS server to query, such as 1.1.1.1:53 (default: the system's)")
    .option("--authority <name>", "the certificate authority", "amazon")
    .addOption(new Option("--tls-port <port>").argParser(readPort).hideHelp())
    .addHelpText("after", HELP)
    .action(async (consoleFlags: ConsoleFlags, command: Command) => {
      const { port } = consoleFlags;
      const { env, terminal, clock } = context;
      const flags = globalFlags(command);
      const environment = readEnvironment(env);
      const isMetered = chooseStore(flags, env).kind === "dynamodb";
      // Loaded here, so that other commands start without it.
      const { LOOPBACK, startConsole } = await import("../../console/server.ts");
      const { readConsoleDomains } = await import("../console-domains.ts");
      const domains = await readConsoleDomains(consoleFlags, env, terminal);
      await withStore(context, command, async ({ store, name, check, explain }) => {
        const stop = context.waitForStop();
        // No link is printed for a console that can show nothing.
        await check();
        const options = {
          store,
          storeName: name,
          isMetered,
          environment,
          clock,
          ...(domains && { domains }),
        };
        const server = await listenOn({ host: LOOPBACK, port }, { host: "--port", port: "--port" }, () =>
          startConsole({ ...options, port, explain, log: terminal.log }),
        );
        try {
          const result = { link: server.link, database: name };
          if (flags.json) await printResult(context, command, result);
          else await terminal.print(formatStart(result));
          await stop;
        } finally {
          await server.close();
        }
        terminal.log("The console has stopped, and its session has ended.");
        return EXIT.success;
      });
    });
}

function formatStart({ link, database }: { readonly link: string; readonly database: string }): string {
  return `Console        ${link}
database       ${database}

Open the link in a browser on this machine. It works once: whoever opens it first gets the session.
Ctrl-C stops the console and ends the session.
`;
}

const PLAN_HELP =
  "the plan of the project, as for 'serve'; domains need pro or above (STORE_ORDERS_PLAN; default: free)";

const HELP = `
Examples:
  $ store-orders console
  $ store-orders console --database orders.db
  $ store-orders console --dynamodb staging-store-orders --port 8790
  $ store-orders console --domains domains.yaml --plan pro --target platform.example.net
  $ pulumi stack output domains --json | store-orders console --stack -

It listens on 127.0.0.1 only. On another machine, forward the port: ssh -L 8790:127.0.0.1:8790 HOST`;
