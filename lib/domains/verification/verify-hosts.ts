import type { ConfiguredHost } from "../mapping.ts";
import { type DnsRecord, recordOf } from "../records.ts";
import { memoizeResolver } from "./resolver.ts";
import { type Verification, type VerificationOptions, verifyHost } from "./verify-host.ts";

/** The verification of a configured host, with the record that it needs. */
export interface HostReport extends ConfiguredHost, Verification {
  readonly record: DnsRecord;
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
  hosts: readonly ConfiguredHost[],
  { concurrency = 8, ...options }: HostsVerificationOptions,
): Promise<readonly HostReport[]> {
  const resolver = memoizeResolver(options.resolver);
  const reports = new Array<HostReport>(hosts.length);
  const queue = hosts.entries();
  const worker = async () => {
    for (const [index, configured] of queue) {
      const verification = await verifyHost(configured.host, { ...options, resolver });
      const record = recordOf(configured, options.target, options.knownZones);
      reports[index] = { ...configured, ...verification, record };
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, Math.min(concurrency, hosts.length)) }, worker));
  return reports;
}
