import type { Command } from "commander";
import { hostsOf } from "../../domains/mapping.ts";
import { recordOf } from "../../domains/records.ts";
import { AUTHORITIES, type CertificateAuthority } from "../../domains/verification/caa.ts";
import { formatReport } from "../../domains/verification/report.ts";
import { verifyHosts } from "../../domains/verification/verify-hosts.ts";
import { invalidInput } from "../../errors.ts";
import { type CommandContext, globalFlags } from "../context.ts";
import { createNamedResolver } from "../dns-server.ts";
import { assignTargets, type TargetedHost } from "../dns-targets.ts";
import { readDomainsFile } from "../domains-file.ts";
import { EXIT } from "../exit-status.ts";
import { printResults } from "../results.ts";
import { readStackDomains, type StackDomains } from "../stack-domains.ts";
import type { CheckFlags, RecordsFlags } from "./domains.ts";

/** Prints the records to set at the DNS provider. */
export async function printRecords(
  context: CommandContext,
  command: Command,
  file: string,
  { target }: RecordsFlags,
): Promise<void> {
  const records = readHosts(file, target).map((host) => ({ ...recordOf(host, host.target) }));
  await printResults(context, command, COLUMNS, records);
}

const COLUMNS = ["host", "role", "zone", "type", "name", "value", "ttl", "alternatives"];

/** Verifies every host against live DNS and prints the report. The command fails unless all are verified. */
export async function checkHosts(
  context: CommandContext,
  command: Command,
  file: string | undefined,
  flags: CheckFlags,
): Promise<void> {
  const { hosts, knownZones } = await readHostsToCheck(context, file, flags);
  const reports = await verifyHosts(hosts, {
    resolver: createNamedResolver(flags),
    authority: findAuthority(flags),
    knownZones,
  });
  const asJson = globalFlags(command).json === true;
  await context.terminal.print(asJson ? `${JSON.stringify(reports)}\n` : formatReport(reports));
  if (reports.some(({ state }) => state !== "verified")) context.exit(EXIT.failed);
}

/** Reads the hosts that `domains check` and `domains watch` verify, with their targets. */
export async function readHostsToCheck(
  { terminal }: CommandContext,
  file: string | undefined,
  { stack, target }: CheckFlags,
): Promise<StackDomains> {
  if (stack !== undefined) {
    if (file !== undefined || target !== undefined) {
      throw invalidInput("--stack", "The outputs contain the hosts and targets. Omit the file and --target.");
    }
    return readStackDomains(stack, terminal);
  }
  if (file === undefined)
    throw invalidInput("file", "Give a domains file, or the outputs of a stack with --stack.");
  if (target === undefined)
    throw invalidInput("--target", "Give the platform host that the records point to.");
  return { hosts: readHosts(file, target), knownZones: [] };
}

/** Reads the hosts of a file with their targets. These commands are about DNS, so they do not check the plan. */
function readHosts(file: string, targets: readonly string[]): readonly TargetedHost[] {
  return assignTargets(hostsOf(readDomainsFile(file, "pro")), targets);
}

/** Finds the certificate authority that `--authority` names. */
export function findAuthority({ authority }: Pick<CheckFlags, "authority">): CertificateAuthority {
  const known = new Map<string, CertificateAuthority>(Object.entries(AUTHORITIES)).get(authority);
  if (known !== undefined) return known;
  const names = Object.keys(AUTHORITIES).join(", ");
  throw invalidInput(
    "--authority",
    `The authority ${JSON.stringify(authority)} is not known. Choose one of ${names}.`,
  );
}
