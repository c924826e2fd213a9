import { type Command, Option } from "commander";
import { AUTHORITIES, type AuthorityName } from "../domains/caa.ts";
import { recordsOf } from "../domains/dns-records.ts";
import { hostsOf } from "../domains/domain-config.ts";
import { formatReport } from "../domains/domain-report.ts";
import { verifyHosts } from "../domains/verify-hosts.ts";
import { createDnsResolver } from "../runtimes/dns-resolver.ts";
import { hostname } from "./arguments.ts";
import { type CommandContext, globalFlags } from "./command-context.ts";
import { readDomainsFile } from "./domains-file.ts";
import { EXIT } from "./exit-status.ts";
import { printResults } from "./results.ts";

/** `domains`: what to set at the DNS provider, and what DNS says about it. */
export function addDomainCommands(parent: Command, context: CommandContext): void {
  const group = parent
    .command("domains")
    .description("The DNS records of custom domains.")
    .addHelpText("after", HELP);
  const target = () =>
    new Option("--target <host>", "the platform host that the records point to")
      .argParser(hostname)
      .makeOptionMandatory();

  group
    .command("records")
    .description("The records to set at the DNS provider, per host.")
    .argument("<file>", "a domains file, YAML or JSON")
    .addOption(target())
    .addHelpText("after", HELP)
    .action(async (file: string, flags: { readonly target: string }, command: Command) => {
      const records = recordsOf(readDomainsFile(file), flags.target);
      const results = records.map((record) => ({ ...record }));
      await printResults(context, command, COLUMNS, results);
    });

  group
    .command("check")
    .description(
      "Look at real DNS: one state and every reason, per host. Ends with 1 unless all are verified.",
    )
    .argument("<file>", "a domains file, YAML or JSON")
    .addOption(target())
    .option("--resolver <address>", "the DNS server to ask, such as 1.1.1.1:53 (default: the machine's)")
    .addOption(
      new Option("--authority <name>", "the certificate authority")
        .choices(Object.keys(AUTHORITIES))
        .default("amazon"),
    )
    .addHelpText("after", HELP)
    .action(async (file: string, flags: CheckFlags, command: Command) => {
      const reports = await verifyHosts(hostsOf(readDomainsFile(file)), {
        resolver: createDnsResolver(flags.resolver === undefined ? {} : { servers: [flags.resolver] }),
        target: flags.target,
        authority: AUTHORITIES[flags.authority],
      });
      const { terminal, exit } = context;
      await terminal.print(
        globalFlags(command).json ? `${JSON.stringify(reports, undefined, 2)}\n` : formatReport(reports),
      );
      if (reports.some(({ state }) => state !== "verified")) exit(EXIT.failed);
    });
}

interface CheckFlags {
  readonly target: string;
  readonly resolver?: string;
  readonly authority: AuthorityName;
}

const COLUMNS = ["host", "role", "zone", "type", "name", "value", "ttl", "alternatives"];

const HELP = `
A domains file:
  domains:
    primary: orders.example.com
    redirects:
      - { from: www.orders.example.com, to: orders.example.com, status: 301 }

Examples:
  $ store-orders domains records domains.yaml --target abc.execute-api.eu-central-1.amazonaws.com
  $ store-orders domains check domains.yaml --target abc.execute-api.eu-central-1.amazonaws.com --json`;
