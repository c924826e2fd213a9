import type { ConfiguredHost } from "../mapping.ts";
import { type DnsRecord, recordOf } from "../records.ts";
import { adviceFor } from "./advice.ts";
import { findApexRecord } from "./apex-record.ts";
import { type DnsResolver, memoizeResolver, recordsIn } from "./resolver.ts";
import type { StackStatus } from "./stack-status.ts";
import { type Verification, type VerificationOptions, verifyHost } from "./verify-host.ts";

/** A host to verify, with its own target if hosts have different ones. */
export interface HostToVerify extends ConfiguredHost {
  /** @default the `target` of the options */
  readonly target?: string;
  /** What the stack that serves the host said about it in its last update. The report repeats it. @default none */
  readonly stack?: StackStatus;
}

/** The verification of a host, with the record that it needs and what to do next. */
export interface HostReport extends ConfiguredHost, Verification {
  /** Missing if the host has no target yet. */
  readonly record?: DnsRecord;
  /** What to do in this state, one step per entry. How to fix each reason is in the reason. */
  readonly advice: readonly string[];
  /** What the stack that serves the host said about it in its last update, if that was given. */
  readonly stack?: StackStatus;
}

/** How to verify many hosts. */
export interface HostsVerificationOptions extends VerificationOptions {
  /**
   * How many hosts are verified at the same time.
   * @default 8
   */
  readonly concurrency?: number;
}

/** Verifies many hosts with bounded concurrency, and reports on each in the given order. */
export async function verifyHosts(
  hosts: readonly HostToVerify[],
  { concurrency = 8, ...options }: HostsVerificationOptions,
): Promise<readonly HostReport[]> {
  const resolver = memoizeResolver(options.resolver);
  const reports = new Array<HostReport>(hosts.length);
  const queue = hosts.entries();
  const worker = async () => {
    for (const [index, { host, role, target = options.target, stack }] of queue) {
      const targeted = target === undefined ? {} : { target };
      const verification = await verifyHost(host, { ...options, ...targeted, resolver });
      const needed = target === undefined ? undefined : recordOf({ host, role }, target, options.knownZones);
      const record = needed === undefined ? {} : { record: await adaptToProvider(resolver, needed) };
      const repeated = stack === undefined ? {} : { stack };
      reports[index] = { role, ...verification, ...record, advice: adviceFor(verification), ...repeated };
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, Math.min(concurrency, hosts.length)) }, worker));
  return reports;
}

/** Replaces the ALIAS at an apex by the record that its DNS provider has for it. */
async function adaptToProvider(resolver: DnsResolver, record: DnsRecord): Promise<DnsRecord> {
  if (record.type !== "ALIAS") return record;
  const own = findApexRecord(recordsIn<"NS">(await resolver(record.zone, "NS")));
  return own === undefined ? record : { ...record, type: own.type, alternatives: [] };
}
