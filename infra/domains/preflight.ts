import * as pulumi from "@pulumi/pulumi";
import type { ConfiguredHost } from "../../lib/domains/mapping.ts";
import { type DnsResolver, memoizeResolver } from "../../lib/domains/verification/resolver.ts";
import { createDnsResolver } from "../../lib/node/dns-resolver.ts";
import type { Settings } from "../config/settings.ts";
import { ownershipComment, ownershipTag } from "../names.ts";
import { type CaaFindings, findCaaProblems } from "./caa-check.ts";
import { findCertificates, wasIssued } from "./certificates.ts";
import { findZones } from "./cloudflare-check.ts";
import { configuredHosts, type HostPlan, isHeld, planHosts } from "./host-plan.ts";
import { createRecordObserver } from "./observer.ts";

/** What the preflight uses besides the settings. */
export interface PreflightOptions {
  /** @default queries the setting `resolver`, or the system's resolvers */
  readonly resolver?: DnsResolver;
}

/**
 * Checks DNS and existing certificates before anything is created, in preview too, and plans the hosts.
 *
 * @throws {pulumi.RunError} if the DNS of a host is not ready; lists every problem with its fix
 */
export async function preflight(
  settings: Settings,
  { resolver = resolverOf(settings) }: PreflightOptions = {},
): Promise<readonly HostPlan[]> {
  const hosts = configuredHosts(settings);
  if (hosts.length === 0) return [];
  return settings.dns === "manual"
    ? prepareManual(settings, hosts, resolver)
    : prepareCloudflare(settings, hosts, resolver);
}

async function prepareManual(
  settings: Settings,
  hosts: readonly ConfiguredHost[],
  resolver: DnsResolver,
): Promise<readonly HostPlan[]> {
  const names = hosts.map(({ host }) => host);
  const certificates = await findCertificates(names, ownershipTag(...stack()));
  const hasCertificate = (host: string) => certificates.get(host)?.some(wasIssued) === true;
  const caa = await findCaaProblems(
    names.map((host) => ({ host, hasCertificate: hasCertificate(host) })),
    memoizeResolver(resolver),
  );
  await report(caa);
  const observer = createRecordObserver(resolver);
  return planHosts(settings, { zones: new Map(), certificates, observer }, ownershipComment(...stack()));
}

async function prepareCloudflare(
  settings: Settings,
  hosts: readonly ConfiguredHost[],
  resolver: DnsResolver,
): Promise<readonly HostPlan[]> {
  const comment = ownershipComment(...stack());
  const toCheck = hosts.map(({ host }) => {
    const adopt = settings.adopt[host];
    return { host, held: isHeld(settings, host), ...(adopt === undefined ? {} : { adopt }) };
  });
  const records = await findZones(toCheck, comment);
  const withZones = hosts.map(({ host }) => {
    const { name: zone, hasOwnRecord = false } = records.zones.get(host) ?? {};
    return { host, hasCertificate: hasOwnRecord, ...(zone === undefined ? {} : { zone }) };
  });
  const caa = await findCaaProblems(withZones, memoizeResolver(resolver));
  await report({
    problems: [...records.problems, ...caa.problems],
    warnings: [...records.warnings, ...caa.warnings],
  });
  return planHosts(settings, { zones: records.zones, certificates: new Map() }, comment);
}

async function report({ problems, warnings }: CaaFindings): Promise<void> {
  if (problems.length > 0) {
    const lines = problems.map((text) => `  ${text}`);
    throw new pulumi.RunError(["DNS is not ready for the domains:", ...lines].join("\n"));
  }
  await Promise.all(warnings.map((text) => pulumi.log.warn(text)));
}

function stack(): readonly [project: string, stack: string] {
  return [pulumi.getProject(), pulumi.getStack()];
}

function resolverOf({ resolver }: Settings): DnsResolver {
  return createDnsResolver(resolver === undefined ? {} : { servers: [resolver] });
}
