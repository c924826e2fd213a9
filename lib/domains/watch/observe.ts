import {
  type HostsVerificationOptions,
  type HostToVerify,
  verifyHosts,
} from "../verification/verify-hosts.ts";
import type { CertificateProbe } from "./certificate-check.ts";
import type { HostObservation } from "./watch.ts";

/** Verifies every host and, if its records point to the platform, reads its certificate. */
export async function observeHosts(
  hosts: readonly HostToVerify[],
  { probe, ...options }: HostsVerificationOptions & { readonly probe: CertificateProbe },
): Promise<readonly HostObservation[]> {
  const reports = await verifyHosts(hosts, options);
  return Promise.all(
    reports.map(async (report) => {
      // The certificate of another server says nothing about this host.
      return report.dns === "ok" ? { report, certificate: await probe(report.host) } : { report };
    }),
  );
}
