import { mapBounded } from "../../core/concurrency.ts";
import { explainTopLevel } from "../hostname.ts";
import type { AttentionReason, DomainEvent } from "../lifecycle.ts";
import type { ConfiguredHost } from "../mapping.ts";
import { type DnsRecord, recordIn } from "../records.ts";
import { placeInZone, type ZoneMatch } from "../zone.ts";
import { adviceFor, type Deployment } from "./advice.ts";
import { AUTHORITIES, type CertificateAuthority, checkCaa, MACHINE_METHODS } from "./caa.ts";
import { checkRecords } from "./check-records.ts";
import { explain } from "./explain-records.ts";
import { findZone, type ZoneHints } from "./find-zone.ts";
import { findApexRecord } from "./providers.ts";
import {
  type AspectState,
  type HostCheckInput,
  type HostCheckResult,
  REASONS,
  type Reason,
} from "./reasons.ts";
import type { StackStatus } from "./report.ts";
import { type DnsResolver, memoizeResolver, normalizeName, recordsIn } from "./resolver.ts";

/** The state of the host's records: `ok` if they point to the platform. */
export type DnsState = "ok" | AspectState<"dns">;

/** The state of the CAA records: `allowed` if the authority may issue a certificate for the host. */
export type CertificateState = "allowed" | AspectState<"certificate">;

/**
 * Both aspects as one state of the lifecycle: `verified` if both are right, `pending_dns` while the records are wrong,
 * `needs_attention` if only the certificate is forbidden. `unknown` if a lookup failed, which changes no state.
 */
export type VerificationState = "verified" | "pending_dns" | "needs_attention" | "unknown";

/** The result of verifying a host against live DNS. */
export interface Verification {
  readonly host: string;
  readonly state: VerificationState;
  /** Present only in the state `needs_attention`. */
  readonly attention?: AttentionReason;
  readonly dns: DnsState;
  readonly certificate: CertificateState;
  /** The value that is set at the DNS provider. Present only if it points to the target. */
  readonly found?: string;
  /** Everything that is wrong, in both aspects. */
  readonly reasons: readonly Reason[];
  /** Facts that change no state, such as a limit in a CAA record. */
  readonly notes: readonly string[];
}

/** Options of `verifyHost`. */
export interface VerificationOptions {
  readonly resolver: DnsResolver;
  /** The platform host that the record must point to. Omit it if the platform has not assigned one yet. */
  readonly target?: string | undefined;
  /**
   * The certificate authorities from which the certificate may be requested. One that may issue it suffices.
   * @default Amazon's
   */
  readonly authorities?: readonly CertificateAuthority[];
  /** The zone of the host. @default found in DNS */
  readonly zone?: string | undefined;
  /** Zones that are known to exist. They count where DNS does not say which zone a host is in. */
  readonly knownZones?: readonly string[];
  /**
   * The deployment of the host, for the advice and the methods of validation: a stack, or one machine behind a server that
   * requests certificates.
   * @default "stack"
   */
  readonly deployment?: Deployment | undefined;
  /** The record by which the authority validates the host, if it is set by hand. Renewals need it, too. @default none */
  readonly validationRecord?: { readonly name: string; readonly value: string } | undefined;
}

/**
 * Queries live DNS for a host and returns its state with every reason why it is not verified. See
 * lib/domains/README.md#domain-verification.
 */
export async function verifyHost(host: string, options: VerificationOptions): Promise<Verification> {
  return verifyInZone(host, await findZone(options.resolver, host, options), options);
}

async function verifyInZone(
  host: string,
  zone: ZoneMatch,
  { resolver, target, authorities = [AUTHORITIES.amazon], deployment, validationRecord }: VerificationOptions,
): Promise<Verification> {
  const methods = deployment === "machine" ? MACHINE_METHODS : undefined;
  const input = { ...zone, host, target: normalizeName(target ?? "the platform host"), authorities, methods };
  const [validation, caa, found] = await Promise.all([
    checkValidation(resolver, input, validationRecord),
    checkCaa(resolver, input),
    target === undefined ? undefined : checkRecords(resolver, input),
  ]);
  const isValidated = validationRecord !== undefined && validation.length === 0;
  const records: HostCheckResult = found ?? { reasons: [explain(input).unknownTarget(isValidated)] };
  const reasons = [...records.reasons, ...caa.reasons];
  // A zone that fails is one reason.
  reasons.push(...validation.filter((one) => !reasons.some(({ code }) => code === one.code)));
  const dns = aspectState<"dns">("dns", reasons) ?? "ok";
  const certificate = aspectState<"certificate">("certificate", reasons) ?? "allowed";
  const state = stateOf(dns, certificate, validation.length === 0);
  return {
    host,
    state,
    ...(state === "needs_attention" ? { attention: "certificate_forbidden" } : {}),
    dns,
    certificate,
    ...(records.found === undefined || dns !== "ok" ? {} : { found: records.found }),
    reasons,
    notes: [...explainZone(zone), ...[records, caa].flatMap((result) => result.notes ?? [])],
  };
}

/** Says that the top-level domain is not known, or that the zone is a guess. */
export function explainZone({ zone, zoneSource }: Pick<ZoneMatch, "zone" | "zoneSource">): readonly string[] {
  if (zoneSource !== "public_suffix_list") return explainTopLevel(zone);
  const guess = `DNS did not say which zone this is, so ${zone} is a guess by the public suffix list. If it is another one, name it with --zone HOST=ZONE.`;
  return [...explainTopLevel(zone), guess];
}

/**
 * The lifecycle event that a verification amounts to. A lame zone is reported, but it may be an outage, so it does
 * not take a domain down.
 */
export function eventOf({ dns, certificate }: Pick<Verification, "dns" | "certificate">): DomainEvent {
  if (dns === "ok") return certificate === "forbidden" ? "certificate_forbidden" : "dns_verified";
  return SAYS_NOTHING.has(dns) ? "dns_unknown" : "dns_failed";
}

const SAYS_NOTHING: ReadonlySet<DnsState> = new Set([
  "unknown",
  "lame",
  "outdated",
  "target_unknown",
  // Some visitors reach the platform.
  "disagreement",
]);

/** Checks the record by which the authority validates the host, like the host's own record. */
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

function stateOf(dns: DnsState, certificate: CertificateState, isValidated: boolean): VerificationState {
  if (dns === "unknown") return "unknown";
  if (dns !== "ok" || !isValidated) return "pending_dns";
  if (certificate === "allowed") return "verified";
  return certificate === "unknown" ? "unknown" : "needs_attention";
}

function aspectState<A extends "dns" | "certificate">(
  aspect: A,
  reasons: readonly Reason[],
): AspectState<A> | undefined {
  const codes = new Set<string>(reasons.map(({ code }) => code));
  const worst = Object.entries(REASONS).find(([code, rule]) => rule.aspect === aspect && codes.has(code));
  return worst?.[1].state as AspectState<A> | undefined;
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
  /** Missing if the host has no target yet. */
  readonly record?: DnsRecord;
  /** The next steps in this state, one per entry. The fix of each reason is in the reason. */
  readonly advice: readonly string[];
  /** The status of the host in the last update of the stack that serves it, if that was given. */
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
    const hints = { ...options, zone };
    const located = await findZone(resolver, host, hints);
    const own = { ...options, resolver, target, validationRecord };
    const verification = await verifyInZone(host, located, own);
    const record =
      target === undefined ? {} : { record: await findRecord(resolver, { host, role }, target, hints) };
    const advice = adviceFor(verification, options.deployment);
    return { role, ...verification, ...record, advice, ...(stack === undefined ? {} : { stack }) };
  };
  return mapBounded(hosts, MAX_CONCURRENT_HOSTS, report);
}

/** Finds the record that a host needs: in the zone that DNS has, and at an apex of the type that its provider has. */
export async function findRecord(
  resolver: DnsResolver,
  host: ConfiguredHost,
  target: string,
  hints: ZoneHints,
): Promise<DnsRecord> {
  const record = recordIn(await findZone(resolver, host.host, hints), host, target);
  if (record.type !== "ALIAS") return record;
  const type = findApexRecord(recordsIn<"NS">(await resolver(record.zone, "NS")));
  return type === undefined ? record : { ...record, type, alternatives: [] };
}
