/** Verifies hosts: what DNS has about them, the state that follows, and what to do next. */
import { mapBounded } from "../../core/concurrency.ts";
import type { ConfiguredHost } from "../mapping.ts";
import type { DnsRecord } from "../records.ts";
import { STACK_ZONES } from "../verification/providers.ts";
import { memoizeResolver } from "../verification/resolver.ts";
import {
  type CertificateCheck,
  type CertificateProbe,
  type DnsFacts,
  findFacts,
  findRecords,
  type VerificationOptions,
} from "./facts.ts";
import { REASONS } from "./reasons.ts";
import { adviceFor, type StackStatus } from "./steps.ts";

/**
 * Both aspects as one state: `verified` if both are right, `pending_dns` while the records are wrong, `needs_attention` if
 * only the certificate is forbidden. `unknown` if a lookup failed, which changes no state of the host.
 */
export type VerificationState = "verified" | "pending_dns" | "needs_attention" | "unknown";

/** The result of verifying a host against live DNS. */
export interface Verification extends Omit<DnsFacts, "served" | "authority"> {
  readonly host: string;
  readonly state: VerificationState;
  /** Present only in the state `needs_attention`. */
  readonly attention?: "certificate_forbidden";
}

/**
 * Queries live DNS for a host and returns its state with every reason why it is not verified. See
 * lib/domains/README.md#domain-verification.
 */
export async function verifyHost(host: string, options: VerificationOptions): Promise<Verification> {
  const facts = await findFacts(host, options);
  const state = summarize(facts);
  return {
    host,
    state,
    ...(state === "needs_attention" && { attention: "certificate_forbidden" }),
    ...facts,
  };
}

function summarize({ dns, certificate, reasons }: DnsFacts): VerificationState {
  if (dns === "unknown") return "unknown";
  if (dns !== "ok" || reasons.some(({ code }) => REASONS[code].aspect !== "certificate"))
    return "pending_dns";
  if (certificate === "allowed") return "verified";
  return certificate === "unknown" ? "unknown" : "needs_attention";
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
    const deployment = stack?.dns ?? options.deployment;
    const hints = { ...options, zone, deployment };
    const verification = await verifyHost(host, { ...hints, resolver, target, validationRecord });
    const isSetByHand = deployment === undefined || STACK_ZONES[deployment] === undefined;
    const hasRecords = target !== undefined && isSetByHand;
    const records = hasRecords ? await findRecords(resolver, { host, role }, target, hints) : [];
    const advice = adviceFor(verification, deployment);
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
