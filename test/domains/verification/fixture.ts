import type { Verification, VerificationOptions } from "../../../lib/domains/status/facts.ts";
import { verifyHost } from "../../../lib/domains/status/verify.ts";
import { createDnsResolver } from "../../../lib/node/dns-resolver.ts";
import { type Failure, startDnsServer } from "../../support/dns-server.ts";

export const HOST = "orders.example.com";
export const TARGET = "d-1a2b3c.platform.example.net";
export const CORRECT = `${HOST} CNAME ${TARGET}`;

/** The part of a fix that names the name servers of the base zone. */
export const ASKED =
  " DNS asks ns1.example.com for example.com: if your provider's name servers are others, enter those at the registrar.";

/** The records that every test has. */
const BASE_ZONE = `
com NS ns.registry.example
net NS ns.registry.example
example.com NS ns1.example.com
old.hosting.example.net A 192.0.2.1
${TARGET} A 198.51.100.7
${TARGET} A 198.51.100.8
${TARGET} AAAA 2001:db8::7
`;

/** Verifies a host against a real DNS server that serves the lines of a zone. */
export async function verify(
  host: string,
  zone: string,
  failures: Readonly<Record<string, Failure>> = {},
  options: Partial<VerificationOptions> = {},
): Promise<Verification> {
  await using server = await startDnsServer(BASE_ZONE + zone, failures);
  // Short if the test is about a timeout; otherwise long, so that a busy machine does not cause one.
  const timeoutMs = Object.values(failures).includes("timeout") ? 250 : 2000;
  const resolver = createDnsResolver({ servers: [server.address], timeoutMs, maxAttempts: 1 });
  return await verifyHost(host, { resolver, target: TARGET, ...options });
}

/** The rows of a table, whose cells are divided by bars. A plus sign between records is a line break. */
export const rowsOf = (table: string): string[][] =>
  table
    .trim()
    .split("\n")
    .map((row) => row.split("|").map((cell) => cell.trim().replaceAll(" + ", "\n")));
