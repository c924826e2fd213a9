import { type Command, Option } from "commander";
import { mapBounded } from "../../core/concurrency.ts";
import { invalidInput } from "../../core/errors.ts";
import { escapeLine, toPrintedJson } from "../../core/text.ts";
import { explainAddresses, parseAddress } from "../../domains/addresses.ts";
import { isPlatformHost, parseHostname, showHost } from "../../domains/hostname.ts";
import { type ConfiguredHost, hostsOf } from "../../domains/mapping.ts";
import { domainsFileJsonSchema } from "../../domains/parse.ts";
import type { Target } from "../../domains/records.ts";
import { type HostToVerify, MAX_CONCURRENT_HOSTS, verifyHosts } from "../../domains/status/verify.ts";
import { AUTHORITIES, type CertificateAuthority, findAuthority } from "../../domains/verification/caa.ts";
import { explainZone, findRecords } from "../../domains/verification/find-zone.ts";
import type { Deployment } from "../../domains/verification/providers.ts";
import { memoizeResolver, normalizeName, recordsIn } from "../../domains/verification/resolver.ts";
import { isWithin } from "../../domains/zone.ts";
import { readDomainsFile } from "../../files/domains-file.ts";
import { createCertificateProbe } from "../../node/certificate-probe.ts";
import { type AnswerListener, createDnsResolver, type DnsResolverOptions } from "../../node/dns-resolver.ts";
import { PLANS, type Plan } from "../../plans/plan-limits.ts";
import { each, invalid, nameFlags } from "../arguments.ts";
import type { CommandContext } from "../context.ts";
import { EXIT } from "../errors.ts";
import { readPort } from "../listen.ts";
import { printResults } from "../output.ts";
import { formatReport } from "../report.ts";
import { readStackDomains, type StackDomains } from "../stack-outputs.ts";
import { watchHosts } from "../watch.ts";

export function defineDomains(group: Command, context: CommandContext): void {
  const { terminal } = context;
  group.addHelpText("afterAll", HELP);

  group
    .command("records")
    .description("Prints the records to set at the DNS provider, one per host.")
    .argument("<file>", "a domains file, YAML or JSON")
    .option(...TARGET)
    .option(...ADDRESS)
    .option(...RESOLVER)
    .option(...ZONE)
    .addOption(planOption())
    .action(async (file: string, flags: CheckFlags) => {
      const resolver = memoizeResolver(createResolver(flags.resolver, ZONE_LIMITS));
      const hosts = assignZones(readHosts(file, flags), flags.zone);
      const find = (host: TargetedHost) => findRecords(resolver, host, host.target, { zone: host.zone });
      const records = (await mapBounded(hosts, MAX_CONCURRENT_HOSTS, find)).flat();
      const rows = records.map((record) => ({ ...record }));
      await printResults(context, COLUMNS, rows);
      // The table is also read by tools, which split it at spaces.
      const spelled = hosts.map(({ host }) => showHost(host)).filter((text) => text.includes(" "));
      const notes = [...spelled, ...records.flatMap(explainZone), ...explainAddresses(flags.address ?? [])];
      for (const note of new Set(notes)) terminal.log(escapeLine(note));
    });

  addCheckOptions(group.command("check"))
    .option("--verbose", "print what was asked, and who answered")
    .description(
      "Queries live DNS and prints, per host, its state and every reason. Exits with 1 unless all are verified.",
    )
    .action(async (file: string | undefined, flags: CheckFlags) => {
      const { hosts, knownZones, deployment } = await readHostsToCheck(context, file, flags);
      const onAnswer = flags.verbose === true ? { onAnswer: printTo(terminal) } : {};
      const verification = createVerification(flags, deployment, onAnswer);
      const reports = await verifyHosts(hosts, { ...verification, knownZones });
      await terminal.print(context.flags.json ? `${toPrintedJson(reports)}\n` : formatReport(reports));
      if (reports.some(({ state }) => state !== "verified")) context.exit(EXIT.failed);
    });

  addCheckOptions(group.command("watch"))
    .description(
      "Repeats the check, and reads each host's certificate, until every host is live or needs attention. Exits with 1 unless all are live.",
    )
    .addOption(new Option("--tls-port <port>").argParser(readPort).hideHelp())
    .action(async (file: string | undefined, flags: CheckFlags) => {
      const domains = await readHostsToCheck(context, file, flags);
      const end = await watchHosts(context, domains, createVerification(flags, domains.deployment));
      if (end !== "live") context.exit(EXIT.failed);
    });

  group
    .command("schema")
    .description("Prints the JSON Schema of a domains file, for editors.")
    .action(async () => {
      await terminal.print(`${JSON.stringify(domainsFileJsonSchema(), null, 2)}\n`);
    });
}

const planOption = () =>
  new Option("--plan <plan>", "the plan of the project, as for 'serve' (default: not checked)").choices(
    PLANS,
  );

function addCheckOptions(command: Command): Command {
  return addVerificationOptions(
    command
      .argument("[file]", "a domains file, YAML or JSON")
      .option(...TARGET)
      .option(...ADDRESS)
      .addOption(planOption())
      .option("--stack <file>", "the outputs of a stack instead of a domains file, or - for standard input"),
  );
}

export interface VerificationFlags {
  readonly resolver?: string;
  readonly authority?: readonly CertificateAuthority[];
  readonly zone?: readonly string[];
  /** The port of the TLS connections, for tests. */
  readonly tlsPort?: number;
}

export function addVerificationOptions(command: Command): Command {
  return command
    .option(...ZONE)
    .option(...RESOLVER)
    .option(
      "--authority <name>",
      `a certificate authority that may be asked: ${Object.keys(AUTHORITIES).join(", ")} or any issuer domain (repeatable; default: amazon for a stack, letsencrypt for one machine)`,
      each(readAuthority),
    );
}

export function createVerification(
  { resolver: server, authority, tlsPort }: VerificationFlags,
  deployment: Deployment,
  options: DnsResolverOptions = {},
) {
  const resolver = createResolver(server, options);
  const probe = createCertificateProbe({ resolver, ...(tlsPort === undefined ? {} : { port: tlsPort }) });
  const usual = deployment === "machine" ? AUTHORITIES.letsencrypt : AUTHORITIES.amazon;
  return { resolver, authorities: authority ?? [usual], probe, deployment };
}

/** Prints a line such as `CNAME www.example.com @1.1.1.1: nxdomain`. */
function printTo({ log }: CommandContext["terminal"]): AnswerListener {
  return (query, server, answer) => {
    const { outcome } = answer;
    const found = recordsIn(answer).map((each) => (typeof each === "string" ? each : JSON.stringify(each)));
    const said = outcome === "failed" ? answer.reason : found.join(", ") || outcome;
    log(escapeLine(`${query} @${server}: ${said}`));
  };
}

function createResolver(server: string | undefined, limits: DnsResolverOptions = {}) {
  try {
    return createDnsResolver(server === undefined ? limits : { ...limits, servers: [server] });
  } catch (error) {
    throw nameFlags(error, { servers: "--resolver" });
  }
}

function readAuthority(name: string): CertificateAuthority {
  const names = Object.keys(AUTHORITIES).join(", ");
  const hint = `Choose one of ${names}, or give its issuer domain, such as letsencrypt.org.`;
  return findAuthority(name) ?? invalid(hint);
}

/** Without an answer the zone is a guess, which is better than a long wait. */
const ZONE_LIMITS: DnsResolverOptions = { timeoutMs: 1000, maxAttempts: 1 };

interface CheckFlags extends VerificationFlags {
  readonly target?: readonly string[];
  readonly address?: readonly string[];
  readonly stack?: string;
  readonly verbose?: boolean;
  readonly plan?: Plan;
}

async function readHostsToCheck(
  { terminal }: CommandContext,
  file: string | undefined,
  { stack, zone, ...flags }: CheckFlags,
): Promise<StackDomains & { readonly deployment: Deployment }> {
  if (stack !== undefined) {
    if (file !== undefined || flags.target !== undefined || flags.address !== undefined)
      throw invalidInput("--stack", "The outputs contain the hosts and targets. Omit everything else.");
    const { hosts, knownZones } = await readStackDomains(stack, terminal);
    return { hosts: assignZones(hosts, zone), knownZones, deployment: "manual" };
  }
  if (file === undefined)
    throw invalidInput("file", "Give a domains file, or the outputs of a stack with --stack.");
  const hosts = assignZones(readHosts(file, flags), zone);
  const isStack = hosts.some((host) => typeof host.target === "string" && isPlatformHost(host.target));
  return { hosts, knownZones: [], deployment: isStack ? "manual" : "machine" };
}

/** These commands are about DNS, so they check the plan only if it is given. */
function readHosts(file: string, flags: CheckFlags): readonly TargetedHost[] {
  const addresses = readAddresses(flags);
  if (addresses === undefined && flags.target === undefined) throw invalidInput("--target", NO_TARGET);
  const hosts = hostsOf(readDomainsFile(file, flags.plan ?? "pro"));
  if (addresses === undefined) return assignTargets(hosts, flags.target ?? []);
  return hosts.map((host) => ({ ...host, target: addresses }));
}

const NO_TARGET = "Give the host that the records point to, or for one machine its --address.";

type TargetedHost = HostToVerify & { readonly target: Target };

export function readAddresses(flags: Pick<CheckFlags, "address"> & { readonly target?: unknown }) {
  const reason =
    "Records either point to the host of a platform or have the addresses of one machine. Omit --target.";
  if (flags.address !== undefined && flags.target !== undefined) throw invalidInput("--address", reason);
  return flags.address;
}

function readAddress(text: string): string {
  return parseAddress(text) ?? invalid("Write an IPv4 or IPv6 address, such as 203.0.113.7 or 2001:db8::7.");
}

function assignZones<T extends HostToVerify>(hosts: readonly T[], values?: readonly string[]): readonly T[] {
  const zones = readZones(values, (name) => hosts.some(({ host }) => host === name));
  return hosts.map((host) => ({ ...host, zone: zones.get(host.host) }));
}

export function readZones(
  values: readonly string[] = [],
  isDomain: (host: string) => boolean = () => true,
): ReadonlyMap<string, string> {
  const zones = readPairs("--zone", values, isDomain);
  for (const [host, zone] of zones) {
    const message = `${host} is not in the zone ${zone}: a zone contains the names that end with its own.`;
    if (!isWithin(host, zone)) throw invalidInput("--zone", message);
  }
  return zones;
}

/** The values are those of `--target`: `VALUE` for every host, or `HOST=VALUE` for one. */
export function assignTargets(hosts: readonly ConfiguredHost[], values: readonly string[]) {
  const isDomain = (name: string) => hosts.some(({ host }) => host === name);
  const pairs = values.filter((value) => value.includes("="));
  const [common, ...others] = values.filter((value) => !pairs.includes(value));
  if (others.length > 0)
    throw invalidInput("--target", "Give one target for all hosts, and others as HOST=VALUE.");
  const targets = readPairs("--target", pairs, isDomain);
  return hosts.map((host) => {
    const text = targets.get(host.host) ?? common;
    if (text === undefined)
      throw invalidInput("--target", `${host.host} has no target. Add --target ${host.host}=VALUE.`);
    const target = readTarget(text);
    const message = `${target} is one of the domains. Give the platform host that its record points to.`;
    if (isDomain(target)) throw invalidInput("--target", message);
    return { ...host, target };
  });
}

export function readTarget(text: string): string {
  const message = `${text} is an address. For one machine, give it with --address in place of --target.`;
  if (parseAddress(text) !== undefined) throw invalidInput("--target", message);
  const parsed = parseHostname(text);
  if (!parsed.ok) throw invalidInput("--target", `${text || '""'}: ${parsed.message}`);
  return parsed.hostname;
}

function readPairs(option: string, values: readonly string[], isDomain: (host: string) => boolean) {
  const pairs = new Map<string, string>();
  for (const text of values) {
    const [host = "", value, ...rest] = text.split("=").map((name) => {
      const parsed = parseHostname(name);
      return parsed.ok ? parsed.hostname : normalizeName(name);
    });
    const message = `${text}: Write HOST=VALUE, with one of the domains, and each of them once.`;
    if (!value || rest.length > 0 || !isDomain(host) || pairs.has(host)) throw invalidInput(option, message);
    pairs.set(host, value);
  }
  return pairs;
}

const COLUMNS = ["host", "role", "zone", "type", "name", "value", "ttl", "alternatives"];

const TARGET = [
  "--target <target>",
  "the platform host that the records point to, or HOST=VALUE for one host (repeatable)",
  each(String),
] as const;

export const ADDRESS = [
  "--address <ip>",
  "in place of --target: the public address of the one machine that serves the hosts (repeatable)",
  each(readAddress),
] as const;

const RESOLVER = [
  "--resolver <address>",
  "the DNS server to query, such as 1.1.1.1:53 (default: the system's)",
] as const;

const ZONE = [
  "--zone <host=zone>",
  "the zone of a host, if DNS does not say the right one (repeatable)",
  each(String),
] as const;

const HELP = `
A domains file, whose first line is for editors:
  # yaml-language-server: $schema=domains.schema.json
  domains:
    primary: orders.example.com
    redirects:
      - { from: www.orders.example.com, to: orders.example.com, status: 301 }

Examples:
  $ store-orders domains records domains.yaml --target abc.execute-api.eu-central-1.amazonaws.com
  $ store-orders domains check domains.yaml --address 203.0.113.7 --address 2001:db8::7
  $ pulumi stack output domains --json | store-orders domains check --stack -`;
