import { type Command, Option } from "commander";
import { PLAN_PROBLEM } from "../../console/domains/domains-file.ts";
import type { DomainsOptions } from "../../console/domains/hosts.ts";
import { LOOPBACK, startConsole } from "../../console/server.ts";
import { invalidInput } from "../../core/errors.ts";
import { hasDomains } from "../../domains/parse.ts";
import { PLANS, type Plan } from "../../plans/plan-limits.ts";
import { type CommandContext, withStore } from "../context.ts";
import { toErrorReport, toPrinted } from "../errors.ts";
import { listenOn, readPort } from "../listen.ts";
import { printResult } from "../output.ts";
import {
  type EnvironmentVariables,
  readEnvironment,
  readPlan,
  readPlans,
  readVariable,
} from "../settings.ts";
import { readStackDomains } from "../stack-outputs.ts";
import type { Terminal } from "../terminal.ts";
import {
  addVerificationOptions,
  createVerification,
  readTarget,
  readZones,
  type VerificationFlags,
} from "./domains.ts";

export interface ConsoleDomainsFlags extends VerificationFlags {
  readonly domains?: string;
  readonly plan?: Plan;
  readonly target?: string;
  readonly stack?: string;
}

/** `console`: a page to manage the store with, on this machine, until a signal stops it. */
export function defineConsole(command: Command, context: CommandContext): void {
  addVerificationOptions(
    command
      .option("--port <port>", "the port to listen on, 0 for a free one", readPort, 0)
      .option("--domains <file>", "the domains file that 'serve' reads (STORE_ORDERS_DOMAINS)")
      .addOption(new Option("--plan <plan>", PLAN_HELP).choices(PLANS))
      .option("--target <host>", "the platform host that the records of the domains file point to")
      .option("--stack <file>", "the outputs of a stack instead of a domains file, or - for standard input"),
  )
    .addOption(new Option("--tls-port <port>").argParser(readPort).hideHelp())
    .addHelpText("after", HELP)
    .action(async ({ port, ...domainsFlags }: ConsoleDomainsFlags & { readonly port: number }) => {
      const { env, terminal, clock, flags } = context;
      // Without the variable, keys are for what the store has recorded: the console can show a store of production, too.
      const isGiven = readVariable(env, "STORE_ORDERS_ENVIRONMENT") !== undefined;
      const environment = isGiven ? readEnvironment(env) : undefined;
      const plans = await readPlans(flags, env);
      const domains = await readConsoleDomains(domainsFlags, env, terminal);
      if (domains?.source.kind === "file" && !hasDomains(domains.source.plan)) terminal.log(NO_DOMAINS);
      const settings = { port, environment, plans, clock, log: terminal.log, ...(domains && { domains }) };
      await withStore(
        context,
        async ({ store, name: storeName, isMetered = false, explain = (error) => error }) => {
          const stop = context.waitForStop();
          // No link is printed for a console that can show nothing. On a full disk it still shows everything.
          await store.check().catch(async (error: unknown) => {
            const reads = [store.accounts.find("demo"), store.orders.find(0n)];
            await Promise.all(reads).catch(() => Promise.reject(error));
            terminal.log(`No change can be made: ${toPrinted(toErrorReport(explain(error)).message)}`);
          });
          const server = await listenOn({ host: LOOPBACK, port }, { host: "--port", port: "--port" }, () =>
            startConsole({ ...settings, store, storeName, isMetered, explain }),
          );
          try {
            const result = { link: server.link, database: storeName };
            if (flags.json) await printResult(context, result);
            else await terminal.print(formatStart(result));
            await stop;
          } finally {
            await server.close();
          }
          terminal.log("The console has stopped, and its session has ended.");
        },
      );
    });
}

export async function readConsoleDomains(
  flags: ConsoleDomainsFlags,
  env: EnvironmentVariables,
  terminal: Pick<Terminal, "input">,
): Promise<DomainsOptions | undefined> {
  const source = await readSource(flags, env, terminal);
  if (source === undefined) return undefined;
  const zones = readZones(flags.zone);
  return { source, zones, ...createVerification(flags, source.kind === "stack" ? "stack" : "machine") };
}

async function readSource(
  flags: ConsoleDomainsFlags,
  env: EnvironmentVariables,
  terminal: Pick<Terminal, "input">,
): Promise<DomainsOptions["source"] | undefined> {
  const { stack, domains, target } = flags;
  if (stack !== undefined) {
    if (domains !== undefined || target !== undefined) {
      throw invalidInput(
        "--stack",
        "The outputs contain the hosts and targets. Omit --domains and --target, or omit --stack.",
      );
    }
    // Outputs that are not valid stop the console at its start. Standard input can be read only once.
    const first = await readStackDomains(stack, terminal);
    const read = stack === "-" ? async () => first : () => readStackDomains(stack, terminal);
    return { kind: "stack", name: stack === "-" ? "the outputs of the stack" : stack, read };
  }
  const path = domains || readVariable(env, "STORE_ORDERS_DOMAINS");
  if (path === undefined) {
    if (target !== undefined) throw invalidInput("--target", "Give the domains file, too, with --domains.");
    return undefined;
  }
  const plan = readPlan(flags, env);
  return { kind: "file", path, plan, ...(target === undefined ? {} : { target: readTarget(target) }) };
}

function formatStart({ link, database }: { readonly link: string; readonly database: string }): string {
  return `Console        ${link}
database       ${database}

Open the link in a browser on this machine. It works once: whoever opens it first gets the session.
Ctrl-C stops the console and ends the session.
`;
}

const NO_DOMAINS = `No domain can be shown: custom domains need the plan pro. ${PLAN_PROBLEM.message}`;

const PLAN_HELP =
  "the plan of the project, as for 'serve'; domains need pro or above (STORE_ORDERS_PLAN; default: free)";

const HELP = `
Examples:
  $ store-orders console --domains domains.yaml --plan pro --target platform.example.net

It listens on 127.0.0.1 only. On another machine, forward the port: ssh -L 8790:127.0.0.1:8790 HOST`;
