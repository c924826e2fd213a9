import type { DomainsOptions } from "../console/domains/domains-source.ts";
import { parseHostname } from "../domains/hostname.ts";
import { invalidInput } from "../errors.ts";
import { createCertificateProbe } from "../node/certificate-probe.ts";
import type { Plan } from "../plans/plan-limits.ts";
import { findAuthority } from "./commands/domains-actions.ts";
import { createNamedResolver } from "./dns-server.ts";
import { type EnvironmentVariables, readPlan } from "./settings.ts";
import { readStackDomains } from "./stack-domains.ts";
import type { Terminal } from "./terminal.ts";

/** The options of `console` that are about domains. */
export interface ConsoleDomainsFlags {
  readonly domains?: string;
  readonly plan?: Plan;
  readonly target?: string;
  readonly stack?: string;
  readonly resolver?: string;
  readonly authority: string;
  /** The port of the TLS connections, for tests. */
  readonly tlsPort?: number;
}

/** Reads where the console's domains come from, if it is started with any. */
export async function readConsoleDomains(
  flags: ConsoleDomainsFlags,
  env: EnvironmentVariables,
  terminal: Pick<Terminal, "input">,
): Promise<DomainsOptions | undefined> {
  const source = await readSource(flags, env, terminal);
  if (source === undefined) return undefined;
  const resolver = createNamedResolver(flags);
  const port = flags.tlsPort === undefined ? {} : { port: flags.tlsPort };
  const probe = createCertificateProbe({ resolver, ...port });
  return { source, resolver, authority: findAuthority(flags), probe };
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
  const path = domains ?? env["STORE_ORDERS_DOMAINS"] ?? "";
  if (path === "") {
    if (target !== undefined) throw invalidInput("--target", "Give the domains file, too, with --domains.");
    return undefined;
  }
  const plan = readPlan(flags, env);
  return { kind: "file", path, plan, ...(target === undefined ? {} : { target: readTarget(target) }) };
}

function readTarget(text: string): string {
  const parsed = parseHostname(text);
  if (!parsed.ok) throw invalidInput("--target", `${text}: ${parsed.message}`);
  return parsed.hostname;
}
