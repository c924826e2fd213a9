import type { Command } from "commander";
import type { CommandContext } from "../context.ts";

/** Adds the `domains` commands. What they need to run is loaded only when one of them does. */
export function addDomainCommands(parent: Command, context: CommandContext): void {
  const group = parent
    .command("domains")
    .description("Print and verify the DNS records of custom domains.")
    .addHelpText("after", HELP);

  group
    .command("records")
    .description("Print the records to set at the DNS provider, one per host.")
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
      "Query live DNS and print, per host, its state and every reason. Exits with 1 unless all are verified.",
    )
    .argument("<file>", "a domains file, YAML or JSON")
    .requiredOption(...TARGET)
    .option("--resolver <address>", "the DNS server to query, such as 1.1.1.1:53 (default: the system's)")
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
