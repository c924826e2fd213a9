import { type Command, Option } from "commander";
import { LOOPBACK, startConsole } from "../../console/server.ts";
import { invalidInput } from "../../core/errors.ts";
import type { Plan } from "../../plans/plan-limits.ts";
import { planOption } from "../arguments.ts";
import { type CommandContext, withStore } from "../context.ts";
import { toErrorReport, toPrinted } from "../errors.ts";
import { listenOn, readPort } from "../listen.ts";
import { printEither } from "../output.ts";
import {
  type EnvironmentVariables,
  readEnvironment,
  readPlan,
  readPlans,
  readVariable,
} from "../settings.ts";
import {
  ADDRESS,
  addVerificationOptions,
  createVerification,
  readAddresses,
  readTarget,
  readZones,
  type VerificationFlags,
} from "./domains.ts";

export interface ConsoleDomainsFlags extends VerificationFlags {
  readonly domains?: string;
  readonly plan?: Plan;
  readonly target?: string;
  readonly address?: readonly string[];
}

export function defineConsole(command: Command, context: CommandContext): void {
  addVerificationOptions(
    command
      .option("--port <port>", "the port to listen on, 0 for a free one", readPort, 0)
      .option("--domains <file>", "the domains file that 'serve' reads (STORE_ORDERS_DOMAINS)")
      .addOption(planOption())
      .option("--target <host>", "the platform host that the records of the domains file point to")
      .option(...ADDRESS),
  )
    .addOption(new Option("--tls-port <port>").argParser(readPort).hideHelp())
    .addHelpText("after", HELP)
    .action(async ({ port, ...domainsFlags }: ConsoleDomainsFlags & { readonly port: number }) => {
      const { env, terminal, clock, flags } = context;
      // Without the variable, keys are for what the store has recorded: the console can show a store of production, too.
      const environment = readEnvironment(env);
      const plans = await readPlans(flags, env);
      const domains = readConsoleDomains(domainsFlags, env);
      await withStore(context, async ({ store, name: storeName, isMetered = false, explain }) => {
        const stop = context.waitForStop();
        const log = (line: string) => terminal.log(toPrinted(line));
        const settings = {
          ...{ port, environment, plans, clock, log, ...(domains && { domains }) },
          ...{ store, storeName, isMetered, explain: (error: unknown) => explain?.(error) ?? error },
        };
        // No link is printed for a console that can show nothing. On a full disk it still shows everything.
        await store.check().catch(async (error: unknown) => {
          const reads = [store.accounts.find("demo"), store.orders.find(0n)];
          await Promise.all(reads).catch(() => Promise.reject(error));
          terminal.log(`No change can be made: ${toPrinted(toErrorReport(settings.explain(error)).message)}`);
        });
        const server = await listenOn({ host: LOOPBACK, port }, "--port", () => startConsole(settings));
        try {
          const result = { link: server.link, database: storeName };
          await printEither(context, result, () => formatStart(result));
          await stop;
        } finally {
          await server.close();
        }
        terminal.log("The console has stopped, and its session has ended.");
      });
    });
}

export function readConsoleDomains(flags: ConsoleDomainsFlags, env: EnvironmentVariables) {
  const target = readAddresses(flags) ?? (flags.target === undefined ? undefined : readTarget(flags.target));
  const path = flags.domains || readVariable(env, "STORE_ORDERS_DOMAINS");
  if (path === undefined) {
    const option = flags.target === undefined ? "--address" : "--target";
    if (target !== undefined) throw invalidInput(option, "Give the domains file, too, with --domains.");
    return undefined;
  }
  return {
    path,
    plan: readPlan(flags, env),
    ...(target === undefined ? {} : { target }),
    zones: readZones(flags.zone),
    ...createVerification(flags, "machine"),
  };
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
  $ store-orders console --domains domains.yaml --plan pro --address 203.0.113.7

It listens on 127.0.0.1 only. On another machine, forward the port: ssh -L 8790:127.0.0.1:8790 HOST`;
