import type { Command } from "commander";
import type { CommandContext } from "../context.ts";

/** `domains`: what to set at the DNS provider, and what DNS says about it. The work is loaded when it is asked for. */
export function addDomainCommands(parent: Command, context: CommandContext): void {
  const group = parent
    .command("domains")
    .description("The DNS records of custom domains.")
    .addHelpText("after", HELP);

  group
    .command("records")
    .description("The records to set at the DNS provider, per host.")
    .argument("<file>", "a domains file, YAML or JSON")
    .requiredOption(...TARGET)
    .addHelpText("after", HELP)
    .action(async (file: string, flags: RecordsFlags, command: Command) => {
      const { printRecords } = await import("./domains-actions.ts");
      await printRecords(context, command, file, flags);
    });

  group
    .command("check")
    .description(
      "Look at real DNS: one state and every reason, per host. Ends with 1 unless all are verified.",
    )
    .argument("<file>", "a domains file, YAML or JSON")
    .requiredOption(...TARGET)
    .option("--resolver <address>", "the DNS server to ask, such as 1.1.1.1:53 (default: the machine's)")
    .option("--authority <name>", "the certificate authority", "amazon")
    .addHelpText("after", HELP)
    .action(async (file: string, flags: CheckFlags, command: Command) => {
      const { checkHosts } = await import("./domains-actions.ts");
      await checkHosts(context, command, file, flags);
    });
}

/** The options of `domains records`. */
export interface RecordsFlags {
  readonly target: string;
}

/** The options of `domains check`. */
export interface CheckFlags extends RecordsFlags {
  readonly resolver?: string;
  readonly authority: string;
}

const TARGET = ["--target <host>", "the platform host that the records point to"] as const;

const HELP = `
A domains file:
  domains:
    primary: orders.example.com
    redirects:
      - { from: www.orders.example.com, to: orders.example.com, status: 301 }

Examples:
  $ store-orders domains records domains.yaml --target abc.execute-api.eu-central-1.amazonaws.com
  $ store-orders domains check domains.yaml --target abc.execute-api.eu-central-1.amazonaws.com --json`;
