import {
  type Verification,
  type VerificationOptions,
  verifyHost,
} from "../../../lib/domains/verification/verify-host.ts";
import { createDnsResolver } from "../../../lib/node/dns-resolver.ts";
import { type Failure, startDnsServer } from "../../support/dns-server.ts";

export const HOST = "orders.example.com";
/** The platform host of these tests. */
export const TARGET = "d-1a2b3c.platform.example.net";
/** The record that makes `HOST` right. */
export const RIGHT = `${HOST} CNAME ${TARGET}`;

/** What is served beside the records of a case. */
const WORLD = `
com NS ns.registry.example
net NS ns.registry.example
example.com NS ns1.example.com
old.hosting.example.net A 192.0.2.1
${TARGET} A 198.51.100.7
${TARGET} A 198.51.100.8
${TARGET} AAAA 2001:db8::7
`;

/** Verifies a host against a real DNS server over the wire that serves the lines of a zone. */
export async function verify(
  host: string,
  zone: string,
  failures: Readonly<Record<string, Failure>> = {},
  options: Partial<VerificationOptions> = {},
): Promise<Verification> {
  await using server = await startDnsServer(WORLD + zone, failures);
  // Short where a time-out is what the case is about, long where a busy machine must not make one.
  const timeoutMs = Object.values(failures).includes("timeout") ? 60 : 2000;
  const resolver = createDnsResolver({ servers: [server.address], timeoutMs, tries: 1 });
  return await verifyHost(host, { resolver, target: TARGET, ...options });
}
