import { Argument, type Command } from "commander";
import { collect } from "../arguments.ts";
import type { CommandContext } from "../context.ts";

/** Adds the `domains` commands. What they need to run is loaded only when one of them does. */
export function addDomainCommands(parent: Command, context: CommandContext): void {
  const group = parent
    .command("domains")
    .description("Prints and verifies the DNS records of custom domains.")
    .addHelpText("after", HELP);

  group
    .command("records")
    .description("Prints the records to set at the DNS provider, one per host.")
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
      "Queries live DNS and prints, per host, its state and every reason. Exits with 1 unless all are verified.",
    )
    .argument("[file]", "a domains file, YAML or JSON")
    .option(...TARGET)
    .option("--stack <file>", "the outputs of a stack instead of a domains file, or - for standard input")
    .option("--resolver <address>", "the DNS server to query, such as 1.1.1.1:53 (default: the system's)")
    .option("--authority <name>", "the certificate authority", "amazon")
    .addHelpText("after", HELP)
    .action(async (file: string | undefined, flags: CheckFlags, command: Command) => {
      const { checkHosts } = await import("./domains-actions.ts");
      await checkHosts(context, command, file, flags);
    });

  group
    .command("schema")
    .description(
      "Prints the JSON Schema of a domains file, for editors, or of what 'domains check --json' prints.",
    )
    .addArgument(new Argument("[of]", "what to describe").choices(["file", "check"]).default("file"))
    .addHelpText("after", SCHEMA_HELP)
    .action(async (of: "file" | "check") => {
      const { domainsFileJsonSchema } = await import("../../domains/schema.ts");
      const { hostReportsJsonSchema } = await import("../../domains/verification/report-schema.ts");
      const schema = of === "file" ? domainsFileJsonSchema() : hostReportsJsonSchema();
      await context.terminal.print(`${JSON.stringify(schema, null, 2)}\n`);
    });
}

/** The options of `domains records`. */
export interface RecordsFlags {
  readonly target: readonly string[];
}

/** The options of `domains check`. */
export interface CheckFlags {
  readonly target?: readonly string[];
  readonly stack?: string;
  readonly resolver?: string;
  readonly authority: string;
}

const TARGET = [
  "--target <target>",
  "the platform host that the records point to, or HOST=VALUE for one host (repeatable)",
  collect,
] as const;

const HELP = `
A domains file:
  domains:
    primary: orders.example.com
    redirects:
      - { from: www.orders.example.com, to: orders.example.com, status: 301 }

Examples:
  $ store-orders domains records domains.yaml --target abc.execute-api.eu-central-1.amazonaws.com
  $ store-orders domains check domains.yaml --target abc.execute-api.eu-central-1.amazonaws.com --json
  $ pulumi stack output domains --json | store-orders domains check --stack -`;

const SCHEMA_HELP = `
Examples:
  $ store-orders domains schema > domains.schema.json

Then start the domains file with:
  # yaml-language-server: $schema=domains.schema.json`;
