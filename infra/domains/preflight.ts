import { Provider as AwsProvider } from "@pulumi/aws/provider.js";
import { Provider as CloudflareProvider } from "@pulumi/cloudflare/provider.js";
import * as pulumi from "@pulumi/pulumi";
import { escapeControls } from "../../lib/core/text.ts";
import { explainTopLevel } from "../../lib/domains/hostname.ts";
import { hostsOf } from "../../lib/domains/mapping.ts";
import { REASONS } from "../../lib/domains/status/reasons.ts";
import { isWrong } from "../../lib/domains/status/status.ts";
import { verifyHost } from "../../lib/domains/status/verify.ts";
import { AUTHORITIES, checkCaa } from "../../lib/domains/verification/caa.ts";
import { findZone } from "../../lib/domains/verification/find-zone.ts";
import { type DnsResolver, memoizeResolver } from "../../lib/domains/verification/resolver.ts";
import type { ZoneMatch } from "../../lib/domains/zone.ts";
import { createDnsResolver } from "../../lib/node/dns-resolver.ts";
import type { Settings } from "../config/settings.ts";
import { isMocked } from "../mocks.ts";
import { hostKey, ownerOf, ownershipComment, ownershipTag } from "../names.ts";
import { type FoundCertificate, findCertificates, findDomainName, wasIssued } from "./certificates.ts";
import { findEarlyRedirects, findKeptRecords } from "./domain-names.ts";
import type { HostPlan, ManagedDns } from "./host-plan.ts";
import { DNS_PROVIDERS, findZones, type HostZone } from "./managed-dns.ts";

type ProviderOptions = Pick<pulumi.ComponentResourceOptions, "parent" | "provider" | "providers">;

/** Options of {@link preflight}. The lookups use `parent`, `provider` and `providers`: pass those of the component. */
export interface PreflightOptions extends ProviderOptions {
  /** @default queries the setting `resolver`, or the system's resolvers */
  readonly resolver?: DnsResolver;
}

/**
 * Checks DNS and existing certificates before anything is created, in preview too, and plans the hosts.
 *
 * @throws {pulumi.RunError} if the DNS of a host is not ready; lists every problem with its fix. Or if the update would
 *   close the API Gateway hostname before the primary host is live
 */
export async function preflight(
  settings: Settings,
  { resolver: given, ...providers }: PreflightOptions = {},
): Promise<readonly HostPlan[]> {
  const configured = settings.domains === undefined ? [] : hostsOf(settings.domains);
  const hosts = configured.map(({ host }) => host);
  const [primary] = hosts;
  if (primary === undefined) return [];
  const resolver = given ?? createDnsResolver(settings.resolver ? { servers: [settings.resolver] } : {});
  /** The hosts for which a certificate is requested. */
  const requesting = hosts.filter((host) => settings.certificates[host] === undefined);
  const owner = ownerOf(settings);
  const comment = ownershipComment(owner);
  const provider = settings.dns === "manual" ? undefined : DNS_PROVIDERS[settings.dns];
  const isManual = provider === undefined;
  const options = lookupOptions(provider?.packageName ?? "aws", providers);
  const awsOptions = lookupOptions("aws", providers);
  const certificates = isManual
    ? await findCertificates(requesting, ownershipTag(owner), options)
    : new Map<string, FoundCertificate[]>();
  const memoized = memoizeResolver(resolver);
  const toCheck = hosts.map((host) => {
    return { host, held: settings.hold.includes(host), adopt: settings.adopt[host] };
  });
  const managed = provider && (await findZones(toCheck, { provider, comment }, options, memoized));
  const zones = managed?.zones ?? new Map<string, HostZone>();
  const located = await Promise.all(
    hosts.map(async (host) => {
      return { host, zone: await findZone(memoized, host, { zone: zones.get(host)?.name }) };
    }),
  );
  const zoneNames = new Map(located.map(({ host, zone: { zone } }) => [host, zone]));
  const requested = located
    .filter(({ host }) => requesting.includes(host))
    .map((each) => {
      const hasRecord = zones.get(each.host)?.hasOwnRecord;
      return { ...each, hasCertificate: hasRecord ?? certificates.get(each.host)?.some(isOwn) ?? false };
    });
  const caa = await findCaaProblems(requested, memoized);
  /** True if DNS asks the provider of this stack for the host: its records count then, and otherwise what DNS answers. */
  const isAsked = (host: string) => !isManual && (isMocked() || zones.get(host)?.isAsked);
  /** The host is `live` if it has its own record now, and keeps it; one that DNS asks others for, or adopted, if it leads here. */
  const observe = async (host: string): Promise<"live" | "unknown" | "elsewhere" | "missing"> => {
    if (settings.hold.includes(host)) return "missing";
    if (isAsked(host) !== false && zones.get(host)?.hasOwnRecord) return "live";
    if (isAsked(host) && settings.adopt[host] === undefined) return "missing";
    const target = (await findDomainName(host, awsOptions))?.regionalDomainName;
    if (target === undefined) return "missing";
    const facts = await verifyHost(host, { resolver: memoized, target });
    if (!isWrong(facts)) return facts.dns === "ok" ? "live" : "unknown";
    // Also without a delegation, or with a CNAME that leads to no address, nobody reaches the host.
    const answers = await Promise.all([memoized(host, "A"), memoized(host, "AAAA")]);
    const hasAddress = answers.some(({ outcome }) => outcome !== "nodata" && outcome !== "nxdomain");
    return hasAddress ? "elsewhere" : "missing";
  };
  /** A lookup that fails says nothing. */
  const mayBeLive = async (host: string) => ["live", "unknown"].includes(await observe(host));
  /** True if an update deletes the records that the stack may have set for the host, although the host is live. */
  const losesRecords = async (host: string) => {
    const hasNone = !isAsked(host) && zones.get(host)?.hasOwnRecord === false;
    return isManual || (hasNone && (await observe(host)) === "live");
  };
  const kept = await findKeptRecords(configured, losesRecords, owner, { dns: settings.dns, ...awsOptions });
  const early = await findEarlyRedirects(configured, mayBeLive, { isManual, ...awsOptions });
  const problems = [...(managed?.problems ?? []), ...caa.problems, ...kept, ...early.problems];
  if (problems.length > 0) {
    const lines = problems.map((problem) => `  ${problem}`);
    throw new pulumi.RunError(["DNS is not ready for the domains:", ...lines].join("\n"));
  }
  // Mocks have no records.
  const state = settings.closePlatformHost && !isMocked() ? await observe(primary) : "live";
  const closing = `store-orders:closePlatformHost: ${primary}`;
  const problem = `${closing} is not served yet, so nothing would be. Remove the key until the host is live.`;
  const unknown = isAsked(primary)
    ? ""
    : " If it is, set store-orders:resolver to a DNS server that knows it.";
  if (state === "missing" || (state === "elsewhere" && isAsked(primary) !== false))
    throw new pulumi.RunError(`${problem}${unknown}`);
  if (state === "elsewhere")
    early.warnings.push(`${closing} leads elsewhere. Unless that is a proxy of this stack, remove the key.`);
  const topLevel = hosts.flatMap(explainTopLevel);
  const warnings = [...topLevel, ...(managed?.warnings ?? []), ...caa.warnings, ...early.warnings];
  await Promise.all(warnings.map((warning) => pulumi.log.warn(warning)));
  return configured.map(({ host, role }) => {
    const [certificateArn, reverify] = [settings.certificates[host], settings.reverify[host]];
    const redirectTo = role === "redirect" ? primary : undefined;
    const known = { host, role, redirectTo, key: hostKey(host), zone: zoneNames.get(host) };
    const zone = zones.get(host);
    // With a DNS provider every host has a zone here: others have been reported as problems.
    if (settings.dns === "manual" || zone === undefined) {
      const found = certificates.get(host) ?? [];
      // The update fails if it has not been issued.
      const issued = certificateArn && ([{ arn: certificateArn, status: "ISSUED" }] as const);
      const dns = { provider: "manual", owner, certificates: issued || found, resolver } as const;
      return { ...known, reverify, certificateArn, dns };
    }
    const routing = routingOf(host, settings, zone);
    const dns = { provider: settings.dns, owner, zoneId: zone.id, comment, routing };
    return { ...known, reverify, certificateArn, dns };
  });
}

function routingOf(host: string, settings: Settings, { hasOwnRecord }: HostZone): ManagedDns["routing"] {
  const adopt = settings.adopt[host];
  // Importing a record that is already in the stack's state would delete it.
  if (adopt !== undefined) return hasOwnRecord ? "managed" : { adopt };
  return settings.hold.includes(host) ? "held" : "managed";
}

const isOwn = (certificate: FoundCertificate) => wasIssued(certificate) && !certificate.isForeign;

/**
 * The options of a lookup before its component exists: with the provider that its resources will have. The default provider
 * would look in another account or region, or is disabled.
 */
function lookupOptions(
  packageName: "aws" | "cloudflare",
  { parent, provider, providers = [] }: ProviderOptions,
): pulumi.InvokeOptions {
  const type = packageName === "aws" ? AwsProvider : CloudflareProvider;
  // In the order of Pulumi: `provider`, then `providers`, then those of the parent.
  const own = provider !== undefined && type.isInstance(provider) ? provider : undefined;
  const listed = Array.isArray(providers)
    ? providers.findLast((each) => type.isInstance(each))
    : providers[packageName];
  const chosen = own ?? listed;
  if (chosen !== undefined) return { provider: chosen };
  return parent === undefined ? {} : { parent };
}

interface CheckedHost {
  readonly host: string;
  readonly zone: ZoneMatch;
  /** True if the host already has a certificate, so that CAA records can only prevent its renewal. */
  readonly hasCertificate: boolean;
}

/** A host that cannot get a certificate is a problem. A lookup that fails prevents no update: ACM queries from elsewhere. */
export async function findCaaProblems(hosts: readonly CheckedHost[], resolver: DnsResolver) {
  const checked = await Promise.all(
    hosts.map(async ({ zone, ...each }) => {
      // The check does not depend on the target, which is not known before the host has been created.
      const input = { ...zone, host: each.host, target: "", authorities: [AUTHORITIES.amazon] };
      return { ...each, reasons: (await checkCaa(resolver, input)).reasons };
    }),
  );
  const problems: string[] = [];
  const warnings: string[] = [];
  for (const { host, hasCertificate, reasons } of checked)
    for (const { code, found, fix } of reasons) {
      const reason = escapeControls(`${REASONS[code].title} Found: ${found}. ${fix}`);
      const unanswered = `The CAA records of ${host} were not checked, because DNS did not answer (${found}). If they do not permit Amazon, no certificate is issued. Set store-orders:resolver to a DNS server that this machine can reach.`;
      if (code === "caa_unanswered") warnings.push(escapeControls(unanswered));
      else if (hasCertificate) warnings.push(`${host}: The certificate cannot be renewed. ${reason}`);
      else problems.push(`${host}: ${reason}`);
    }
  return { problems, warnings };
}
