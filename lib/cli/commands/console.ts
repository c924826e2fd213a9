import type { Command } from "commander";
import { readPort } from "../arguments.ts";
import { type CommandContext, globalFlags, withStore } from "../context.ts";
import { EXIT } from "../exit-status.ts";
import { listenOn } from "../listen.ts";
import { printResult } from "../results.ts";
import { chooseStore, readEnvironment } from "../settings.ts";

/** The options of `console`. */
interface ConsoleFlags {
  readonly port: number;
}

/** `console`: a page to manage the store with, on this machine, until a signal stops it. */
export function addConsoleCommand(parent: Command, context: CommandContext): void {
  parent
    .command("console")
    .description("Serves a page on this machine that shows and manages accounts, orders and domains.")
    .option("--port <port>", "the port to listen on, 0 for a free one", readPort, 0)
    .addHelpText("after", HELP)
    .action(async ({ port }: ConsoleFlags, command: Command) => {
      const { env, terminal, clock } = context;
      const flags = globalFlags(command);
      const environment = readEnvironment(env);
      const isMetered = chooseStore(flags, env).kind === "dynamodb";
      // Loaded here, so that other commands start without it.
      const { LOOPBACK, startConsole } = await import("../../console/server.ts");
      await withStore(context, command, async ({ store, name, check, explain }) => {
        const stop = context.waitForStop();
        // No link is printed for a console that can show nothing.
        await check();
        const options = { store, storeName: name, isMetered, environment, clock };
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

const HELP = `
Examples:
  $ store-orders console
  $ store-orders console --database orders.db
  $ store-orders console --dynamodb staging-store-orders --port 8790

It listens on 127.0.0.1 only. On another machine, forward the port: ssh -L 8790:127.0.0.1:8790 HOST`;
