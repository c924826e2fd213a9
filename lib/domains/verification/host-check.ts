import type { DnsRecord } from "../records.ts";
import type { Reason, ReasonCode } from "../status/reasons.ts";
import type { ZoneMatch } from "../zone.ts";
import { findNameServers } from "./find-zone.ts";
import type { Deployment } from "./providers.ts";
import type { DnsResolver } from "./resolver.ts";

export interface HostCheckInput extends ZoneMatch {
  readonly host: string;
  /** If it is not known, a description that stands for it in the reasons. */
  readonly target: string;
  /** The addresses of the one machine that serves the host, in place of a target. */
  readonly addresses?: readonly string[] | undefined;
  /** The name servers of the zone, as the resolver has them. */
  readonly nameServers?: readonly string[];
  /** @default "manual" */
  readonly deployment?: Deployment | undefined;
  /** True for the validation record of a certificate, whose target need not have an address. */
  readonly isValidation?: boolean;
  /** The type of record that the zone's DNS provider has for an apex, if the provider is known. */
  readonly apexRecord?: DnsRecord["type"] | undefined;
}

export interface HostCheckResult {
  readonly reasons: readonly Reason[];
  readonly notes?: readonly string[];
  /** The record that is set. Present only if it points to the platform. */
  readonly found?: string;
}

/** The result of a check as one name server answers it. */
export type ServerResult = readonly [server: string, result: HostCheckResult];

/** The results at the name servers of a zone that answer: they differ while it is moved, or is at two providers. */
export async function checkEach(
  resolver: DnsResolver,
  zone: string,
  check: (ask: DnsResolver) => Promise<HostCheckResult>,
): Promise<readonly ServerResult[]> {
  const servers = await findNameServers(resolver, zone);
  const checks = servers.map(async ([server, ask]) => [server, await check(ask)] as const);
  const results = await Promise.all(checks);
  const failed: readonly ReasonCode[] = ["dns_unanswered", "caa_unanswered"];
  return results.filter(([, { reasons }]) => !reasons.some(({ code }) => failed.includes(code)));
}

/** True if two results say the same: what was found if something is wrong, and nothing otherwise. */
export function isSameResult(one: HostCheckResult, other: HostCheckResult): boolean {
  const textOf = ({ reasons }: HostCheckResult) =>
    reasons.map(({ code, found }) => `${code} ${found}`).join("\n");
  return textOf(one) === textOf(other);
}
