import { mapBounded } from "../../core/concurrency.ts";
import type { ConfiguredHost } from "../mapping.ts";
import type { DnsRecord } from "../records.ts";
import { memoizeResolver } from "../verification/resolver.ts";
import {
  type CertificateProbe,
  findRecord,
  type Verification,
  type VerificationOptions,
  verifyHost,
} from "./facts.ts";
import type { DomainObservation, StackStatus } from "./status.ts";
import { adviceFor } from "./steps.ts";

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
    const verification = await verifyHost(host, { ...hints, resolver, target, validationRecord });
    const record =
      target === undefined ? {} : { record: await findRecord(resolver, { host, role }, target, hints) };
    const advice = adviceFor(verification, options.deployment);
    return { role, ...verification, ...record, advice, ...(stack === undefined ? {} : { stack }) };
  };
  return mapBounded(hosts, MAX_CONCURRENT_HOSTS, report);
}

export interface HostObservation extends DomainObservation {
  readonly verification: HostReport;
}

/** Verifies every host and, if its records point to the platform, reads its certificate. */
export async function observeHosts(
  hosts: readonly HostToVerify[],
  { probe, ...options }: HostsVerificationOptions & { readonly probe: CertificateProbe },
): Promise<readonly HostObservation[]> {
  const reports = await verifyHosts(hosts, options);
  return mapBounded(reports, MAX_CONCURRENT_HOSTS, async (verification) => {
    // The certificate of another server says nothing about this host.
    return verification.dns === "ok"
      ? { verification, certificate: await probe(verification.host) }
      : { verification };
  });
}
