import { mapBounded } from "../../core/concurrency.ts";
import { invalidInput } from "../../core/errors.ts";
import { explainAddresses, parseAddress } from "../addresses.ts";
import type { ConfiguredHost } from "../mapping.ts";
import type { DnsRecord } from "../records.ts";
import { AUTHORITIES, checkCaa } from "../verification/caa.ts";
import { checkRecords } from "../verification/check-records.ts";
import { explainRecords } from "../verification/explain-records.ts";
import { explainZone, findRecords, findZone } from "../verification/find-zone.ts";
import type { HostCheckInput, HostCheckResult } from "../verification/host-check.ts";
import { STACK_ZONES } from "../verification/providers.ts";
import { type DnsResolver, memoizeResolver, normalizeName } from "../verification/resolver.ts";
import { placeInZone } from "../zone.ts";
import type { CertificateCheck, CertificateProbe, Verification, VerificationOptions } from "./facts.ts";
import { type AspectState, REASONS, type Reason } from "./reasons.ts";
import { adviceFor, type StackStatus } from "./steps.ts";

/** Queries live DNS for a host. The reasons say why it is not verified: see lib/domains/README.md#domain-verification. */
export async function verifyHost(host: string, options: VerificationOptions): Promise<Verification> {
  const { resolver, target, authorities = [AUTHORITIES.amazon], deployment, validationRecord } = options;
  const zone = await findZone(resolver, host, options);
  const addresses = typeof target === "object" ? target.map(readAddress) : undefined;
  const name = normalizeName(addresses?.join(", ") ?? `${target ?? "the platform host"}`);
  const input = { ...zone, host, target: name, addresses, authorities, deployment };
  const [validation, caa, found] = await Promise.all([
    checkValidation(resolver, input, validationRecord),
    checkCaa(resolver, input),
    target === undefined ? undefined : checkRecords(resolver, input),
  ]);
  const isValidated = validationRecord && validation.length === 0;
  const records: HostCheckResult = found ?? { reasons: [explainRecords(input).unknownTarget(isValidated)] };
  const reasons = [...records.reasons, ...caa.reasons];
  // A zone that fails is one reason.
  reasons.push(...validation.filter((one) => !reasons.some(({ code }) => code === one.code)));
  const dns = aspectState<"dns">("dns", reasons) ?? "ok";
  const certificate = aspectState<"certificate">("certificate", reasons) ?? "allowed";
  const state = summarize({ dns, certificate, reasons });
  return {
    host,
    state,
    ...(state === "needs_attention" && { attention: "certificate_forbidden" }),
    dns,
    certificate,
    ...(records.found === undefined || dns !== "ok" ? {} : { found: records.found }),
    reasons,
    notes: [
      ...explainZone(zone),
      ...explainAddresses(addresses ?? []),
      ...[records, caa].flatMap((result) => result.notes ?? []),
    ],
  };
}

function summarize({ dns, certificate, reasons }: Pick<Verification, "dns" | "certificate" | "reasons">) {
  if (dns === "unknown") return "unknown";
  if (dns !== "ok" || reasons.some(({ code }) => REASONS[code].aspect !== "certificate"))
    return "pending_dns";
  if (certificate === "allowed") return "verified";
  return certificate === "unknown" ? "unknown" : "needs_attention";
}

/** Checks the record by which the authority validates the host like the host's own. */
async function checkValidation(
  resolver: DnsResolver,
  input: HostCheckInput,
  record: VerificationOptions["validationRecord"],
): Promise<readonly Reason[]> {
  if (record === undefined) return [];
  const { host, zone, zoneSource } = input;
  const place = { ...placeInZone(record.name, zone, zoneSource), host: record.name };
  const target = normalizeName(record.value);
  const { reasons } = await checkRecords(resolver, { ...input, ...place, target, isValidation: true });
  // The authority does not ask this resolver.
  const wrong = reasons.filter(({ code }) => code !== "answer_outdated");
  return wrong.map((reason) => {
    const isOfZone = ["unknown", "lame", "not_delegated"].includes(REASONS[reason.code].state);
    return { ...reason, host, code: isOfZone ? reason.code : "validation_record" };
  });
}

function aspectState<A extends "dns" | "certificate">(
  aspect: A,
  reasons: readonly Reason[],
): AspectState<A> | undefined {
  const isFound = (wanted: string) => reasons.some(({ code }) => code === wanted);
  const worst = Object.entries(REASONS).find(([code, rule]) => rule.aspect === aspect && isFound(code));
  return worst?.[1].state as AspectState<A> | undefined;
}

function readAddress(text: string): string {
  const address = parseAddress(text);
  if (address === undefined) throw invalidInput("target", `${text || '""'} is not an IP address.`);
  return address;
}

/** A host to verify, with its own target if hosts have different ones. */
export interface HostToVerify
  extends ConfiguredHost,
    Pick<VerificationOptions, "target" | "zone" | "validationRecord"> {
  /** The status of the host in the last update of the stack that serves it. The report repeats it. @default none */
  readonly stack?: StackStatus;
}

/** The verification of a host, with the record that it needs and the next steps. */
export interface HostReport extends ConfiguredHost, Verification {
  /** The records to set by hand. Empty if the host has no target yet, or its stack sets them. */
  readonly records: readonly DnsRecord[];
  /** The next steps in this state, one per entry. The fix of each reason is in the reason. */
  readonly advice: readonly string[];
  readonly stack?: StackStatus;
}

/** The number of hosts whose DNS is queried at the same time. */
export const MAX_CONCURRENT_HOSTS = 50;

/** Options of `verifyHosts`. */
export type HostsVerificationOptions = Omit<VerificationOptions, "zone" | "validationRecord">;

/** Verifies many hosts, 50 at a time, and reports on each in the given order. */
export async function verifyHosts(
  hosts: readonly HostToVerify[],
  options: HostsVerificationOptions,
): Promise<readonly HostReport[]> {
  const resolver = memoizeResolver(options.resolver);
  const report = async (each: HostToVerify): Promise<HostReport> => {
    const { host, role, target = options.target, zone, stack, validationRecord } = each;
    const deployment = stack?.dns ?? options.deployment;
    const hints = { ...options, zone, deployment };
    const verification = await verifyHost(host, { ...hints, resolver, target, validationRecord });
    const isSetByHand = deployment === undefined || STACK_ZONES[deployment] === undefined;
    const hasRecords = target !== undefined && isSetByHand;
    const records = hasRecords ? await findRecords(resolver, { host, role }, target, hints) : [];
    // DNS says nothing about the certificate, which the stack has.
    const isLive = verification.state === "verified" && stack?.state === "live";
    const advice = adviceFor(isLive ? { state: "live" } : verification, deployment);
    return { role, ...verification, records, advice, ...(stack === undefined ? {} : { stack }) };
  };
  return mapBounded(hosts, MAX_CONCURRENT_HOSTS, report);
}

/** The report on a host with the certificate that its visitors get. */
export interface ObservedHost extends HostReport {
  /** Missing if it was not looked at: that of another server says nothing about this host. */
  readonly served?: CertificateCheck;
}

/** Verifies every host and, if its records point to the platform, reads its certificate. */
export async function observeHosts(
  hosts: readonly HostToVerify[],
  { probe, ...options }: HostsVerificationOptions & { readonly probe: CertificateProbe },
): Promise<readonly ObservedHost[]> {
  const reports = await verifyHosts(hosts, options);
  return mapBounded(reports, MAX_CONCURRENT_HOSTS, async (report) =>
    report.dns === "ok" ? { ...report, served: await probe(report.host) } : report,
  );
}
