import type { Command } from "commander";
import { parseHostname } from "../../domains/hostname.ts";
import { type DomainMapping, hostsOf } from "../../domains/mapping.ts";
import { recordsOf } from "../../domains/records.ts";
import { AUTHORITIES, type CertificateAuthority } from "../../domains/verification/caa.ts";
import { formatReport } from "../../domains/verification/report.ts";
import { verifyHosts } from "../../domains/verification/verify-hosts.ts";
import { InvalidInputError } from "../../errors.ts";
import { createDnsResolver } from "../../node/dns-resolver.ts";
import { type CommandContext, globalFlags } from "../context.ts";
import { readDomainsFile } from "../domains-file.ts";
import { EXIT } from "../exit-status.ts";
import { printResults } from "../results.ts";
import type { CheckFlags, RecordsFlags } from "./domains.ts";

/** Prints the records to set at the DNS provider. */
export async function printRecords(
  context: CommandContext,
  command: Command,
  file: string,
  flags: RecordsFlags,
): Promise<void> {
  const records = recordsOf(readForDns(file), targetOf(flags));
  await printResults(
    context,
    command,
    COLUMNS,
    records.map((record) => ({ ...record })),
  );
}

const COLUMNS = ["host", "role", "zone", "type", "name", "value", "ttl", "alternatives"];

/** Verifies every host against live DNS and prints the report. The command fails unless all are verified. */
export async function checkHosts(
  context: CommandContext,
  command: Command,
  file: string,
  flags: CheckFlags,
): Promise<void> {
  const { resolver } = flags;
  const reports = await verifyHosts(hostsOf(readForDns(file)), {
    resolver: createDnsResolver(resolver === undefined ? {} : { servers: [resolver] }),
    target: targetOf(flags),
    authority: authorityOf(flags),
  });
  const asJson = globalFlags(command).json === true;
  await context.terminal.print(asJson ? `${JSON.stringify(reports)}\n` : formatReport(reports));
  if (reports.some(({ state }) => state !== "verified")) context.exit(EXIT.failed);
}

/** The commands about DNS read a file of any project, so they do not check its plan. */
function readForDns(file: string): DomainMapping {
  return readDomainsFile(file, "pro");
}

function targetOf({ target }: RecordsFlags): string {
  const parsed = parseHostname(target);
  if (parsed.ok) return parsed.hostname;
  throw new InvalidInputError([{ path: "--target", message: parsed.message }]);
}

function authorityOf({ authority }: CheckFlags): CertificateAuthority {
  const known = new Map<string, CertificateAuthority>(Object.entries(AUTHORITIES)).get(authority);
  if (known !== undefined) return known;
  const message = `The authority ${JSON.stringify(authority)} is not known. Choose one of ${Object.keys(AUTHORITIES).join(", ")}.`;
  throw new InvalidInputError([{ path: "--authority", message }]);
}
