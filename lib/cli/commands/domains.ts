import { Argument, type Command, Option } from "commander";
import { collect, readPort } from "../arguments.ts";
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

  withCheckOptions(group.command("check"))
    .description(
      "Queries live DNS and prints, per host, its state and every reason. Exits with 1 unless all are verified.",
    )
    .addHelpText("after", HELP)
    .action(async (file: string | undefined, flags: CheckFlags, command: Command) => {
      const { checkHosts } = await import("./domains-actions.ts");
      await checkHosts(context, command, file, flags);
    });

  withCheckOptions(group.command("watch"))
    .description(
      "Repeats the check, and reads each host's certificate, until every host is live or needs attention. Exits with 1 unless all are live.",
    )
    .option("--reverify", "verify hosts that need attention anew, after a new certificate was requested")
    .option("--state <file>", "where the state is kept between runs", DEFAULT_WATCH_STATE)
    .addOption(new Option("--tls-port <port>").argParser(readPort).hideHelp())
    .addHelpText("after", HELP)
    .action(async (file: string | undefined, flags: WatchFlags, command: Command) => {
      const { watchHosts } = await import("./domains-watch.ts");
      await watchHosts(context, command, file, flags);
    });

  group
    .command("schema")
    .description(
      "Prints the JSON Schema of a domains file, for editors, or of what 'domains check' or 'domains watch' prints with --json.",
    )
    .addArgument(new Argument("[of]", "what to describe").choices(["file", "check", "watch"]).default("file"))
    .addHelpText("after", SCHEMA_HELP)
    .action(async (of: SchemaName) => {
      const { printSchema } = await import("./domains-schema.ts");
      await printSchema(context, of);
    });
}

function withCheckOptions(command: Command): Command {
  return command
    .argument("[file]", "a domains file, YAML or JSON")
    .option(...TARGET)
    .option("--stack <file>", "the outputs of a stack instead of a domains file, or - for standard input")
    .option("--resolver <address>", "the DNS server to query, such as 1.1.1.1:53 (default: the system's)")
    .option("--authority <name>", "the certificate authority", "amazon");
}

/** What `domains schema` describes. */
export type SchemaName = "file" | "check" | "watch";

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

/** The options of `domains watch`. */
export interface WatchFlags extends CheckFlags {
  readonly reverify?: boolean;
  readonly state: string;
  /** The port of the TLS connections, for tests. */
  readonly tlsPort?: number;
}

/** Where a watch keeps its state unless `--state` names another file. */
const DEFAULT_WATCH_STATE = ".data/domains-watch.json";

const TARGET = [
  "--target <target>",
  "the platform host that the records point to, or HOST=VALUE for one host (repeatable)",
  collect,
] as const;

const HELP = `
A domains file:
  # yaml-language-server: $schema=domains.schema.json
  domains:
    primary: orders.example.com
    redirects:
      - { from: www.orders.example.com, to: orders.example.com, status: 301 }

Examples:
  $ store-orders domains records domains.yaml --target abc.execute-api.eu-central-1.amazonaws.com
  $ store-orders domains check domains.yaml --target abc.execute-api.eu-central-1.amazonaws.com --json
  $ store-orders domains watch domains.yaml --target abc.execute-api.eu-central-1.amazonaws.com
  $ pulumi stack output domains --json | store-orders domains check --stack -`;

const SCHEMA_HELP = `
Examples:
  $ store-orders domains schema > domains.schema.json

Then start the domains file with:
  # yaml-language-server: $schema=domains.schema.json`;
