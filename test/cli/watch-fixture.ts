import { afterAll, beforeAll } from "vitest";
import { advanceWatch, formatChange, type WatchEnd, type WatchedHost } from "../../lib/cli/watch.ts";
import type { HostStatus } from "../../lib/domains/status/status.ts";
import type { HostToVerify } from "../../lib/domains/status/verify.ts";
import { observeHosts } from "../../lib/domains/status/verify.ts";
import { createCertificateProbe } from "../../lib/node/certificate-probe.ts";
import { createDnsResolver } from "../../lib/node/dns-resolver.ts";
import { createTestAuthority } from "../support/certificates.ts";
import { type DnsServer, type Failure, startDnsServer } from "../support/dns-server.ts";
import { startTlsServer, type TlsServer } from "../support/tls-server.ts";

export const NOON = Date.UTC(2026, 10, 20, 12);
export const MINUTE = 60_000;
const authority = createTestAuthority();
export const A = "orders.example.com";
export const B = "www.example.org";
const HOSTS: readonly HostToVerify[] = [
  { host: A, role: "primary", target: "d-a.platform.example" },
  { host: B, role: "redirect", target: "d-b.platform.example" },
];
const PLATFORM = "d-a.platform.example A 127.0.0.1\nd-b.platform.example A 127.0.0.1";
export const A_RIGHT = `${A} CNAME d-a.platform.example`;
export const B_RIGHT = `${B} CNAME d-b.platform.example`;
export const B_WRONG = `${B} CNAME d-a.platform.example`;

let dns: DnsServer;
let tls: TlsServer;
/** Starts a DNS server and a TLS server for the tests of a file. */
export function useServers(): void {
  beforeAll(async () => {
    dns = await startDnsServer("");
    tls = await startTlsServer({});
  });
  afterAll(async () => {
    await dns[Symbol.asyncDispose]();
    await tls[Symbol.asyncDispose]();
  });
}

/** What the world looks like at one time. */
interface Moment {
  /** Minutes since the start. */
  readonly at: number;
  readonly records: readonly string[];
  readonly failures?: Readonly<Record<string, Failure>>;
  /** The hosts whose certificate the platform has. */
  readonly issued?: readonly string[];
}

interface Watched {
  /** Undefined if the moments ended before. */
  readonly end: WatchEnd | undefined;
  /** The state, with the host, after every observation. */
  readonly states: readonly (readonly string[])[];
  readonly lines: readonly string[];
  /** By host. */
  readonly last: ReadonlyMap<string, HostStatus>;
}

/** Watches hosts with the real resolver and probe, while the world changes at each observation; nothing sleeps. */
export async function watchThrough(
  moments: readonly Moment[],
  { hosts = HOSTS }: { readonly hosts?: readonly HostToVerify[] } = {},
): Promise<Watched> {
  const resolver = createDnsResolver({ servers: [dns.address], maxAttempts: 1 });
  const probe = createCertificateProbe({ resolver, port: tls.port, ca: authority.cert });
  const states: string[][] = [];
  const lines: string[] = [];
  let watched: readonly WatchedHost[] = [];
  let end: WatchEnd | undefined;
  for (const { at, records, failures, issued = [] } of moments) {
    const now = NOON + at * MINUTE;
    dns.update([PLATFORM, ...records].join("\n"), failures);
    tls.certificates.clear();
    tls.certificates.set("*", authority.issue(["*.platform.example"]));
    for (const host of issued) tls.certificates.set(host, authority.issue([host]));
    const step = advanceWatch(watched, await observeHosts(hosts, { resolver, probe }), now);
    ({ hosts: watched, end } = step);
    states.push(watched.map(({ status }) => `${status.host} ${status.state}`));
    lines.push(...step.changes.map((change) => formatChange(change, now)));
    if (end !== undefined) break;
  }
  const last = new Map(watched.map(({ status }) => [status.host, status]));
  return { end, states, lines, last };
}

export const only = (host: string) => HOSTS.filter((each) => each.host === host);
