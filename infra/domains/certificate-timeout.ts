import { CERTIFICATE_TIMEOUT_MS } from "../../lib/domains/lifecycle.ts";
import { MINUTE_MS } from "../../lib/plans/windows.ts";

/** How long an update waits for a certificate, as a Pulumi duration. See lib/README.md#domain-verification. */
export const CERTIFICATE_TIMEOUT = `${CERTIFICATE_TIMEOUT_MS / MINUTE_MS}m`;

/** Explains what to check if no certificate was issued in time. `reverify` is the number that is configured now. */
export function explainCertificateTimeout(host: string, reverify: number, errors: readonly string[]): string {
  return [
    `No certificate was issued for ${host} within 30 minutes.`,
    "  1. Check that the DNS records of the host are correct: store-orders domains check",
    "  2. Check that no CAA record forbids the certificate authority: either there is none, or one allows amazon.com.",
    `  3. Request a new certificate: set store-orders:reverify to { ${host}: ${reverify + 1} } and update again.`,
    "  See infra/README.md#certificate-not-issued.",
    ...errors.map((error) => `  Error from the provider: ${error}`),
  ].join("\n");
}
