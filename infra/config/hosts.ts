import { parseHostname } from "../../lib/domains/hostname.ts";
import { type DomainMapping, hostsOf } from "../../lib/domains/mapping.ts";
import { parseDomains } from "../../lib/domains/parse.ts";
import type { Issue } from "../../lib/errors.ts";
import { isPlan } from "../../lib/plans/plan-limits.ts";

/** The settings that refer to hosts, with every host in normal form: lower case, punycode, no trailing dot. */
export interface HostSettings {
  readonly domains?: DomainMapping;
  readonly reverify: Readonly<Record<string, number>>;
  readonly hold: readonly string[];
  readonly adopt: Readonly<Record<string, string>>;
}

/** The common name of a certificate is limited to 64 characters (RFC 5280, appendix A.1). */
const MAX_HOST_CHARS = 64;

/**
 * Validates `domains` and finds the keys that refer to other hosts, whether written in a stack file or in a program.
 */
export function parseHostSettings(raw: Readonly<Record<string, unknown>>): {
  readonly domains?: DomainMapping;
  readonly issues: readonly Issue[];
} {
  const { domains: value, plan } = raw;
  if (value === undefined) return { issues: findHostIssues(raw, []) };
  // An invalid plan has its own issue and must not cause a second one about domains.
  const known = typeof plan === "string" && isPlan(plan) ? plan : plan === undefined ? "free" : "pro";
  const parsed = parseDomains(value, { plan: known });
  if (!parsed.ok) return { issues: parsed.issues };
  const { domains } = parsed;
  const hosts = hostsOf(domains).map(({ host }) => host);
  return { domains, issues: [...findLongHosts(hosts), ...findHostIssues(raw, hosts)] };
}

/** Normalises the hosts that valid settings refer to. */
export function normalizeHosts({
  reverify,
  hold,
  adopt,
}: Omit<HostSettings, "domains">): Omit<HostSettings, "domains"> {
  return { reverify: withHostKeys(reverify), hold: hold.map(normalizeHost), adopt: withHostKeys(adopt) };
}

function withHostKeys<T>(byHost: Readonly<Record<string, T>>): Readonly<Record<string, T>> {
  return Object.fromEntries(Object.entries(byHost).map(([host, value]) => [normalizeHost(host), value]));
}

function normalizeHost(host: string): string {
  const parsed = parseHostname(host);
  return parsed.ok ? parsed.hostname : host;
}

function findLongHosts(hosts: readonly string[]): readonly Issue[] {
  return hosts
    .filter((host) => host.length > MAX_HOST_CHARS)
    .map((host) => ({
      path: "domains",
      message: `${host} has ${host.length} characters, but a certificate allows at most ${MAX_HOST_CHARS}. Choose a shorter name.`,
    }));
}

/** Checks the keys that refer to hosts: a mistyped host would have no effect, so it is an error. */
function findHostIssues(raw: Readonly<Record<string, unknown>>, known: readonly string[]): readonly Issue[] {
  const issues: Issue[] = [];
  for (const key of ["reverify", "hold", "adopt"] as const) {
    const names = namesIn(raw[key]);
    for (const [index, name] of names.entries()) {
      const host = normalizeHost(name);
      if (!known.includes(host)) {
        const message = `${name} is not one of the configured domains. Add it to 'domains', or remove it here.`;
        issues.push({ path: key, message });
      } else if (names.slice(0, index).map(normalizeHost).includes(host)) {
        issues.push({ path: key, message: `${name} is listed twice. Remove one of the two.` });
      }
    }
  }
  const adopted = namesIn(raw["adopt"]).map(normalizeHost);
  for (const name of namesIn(raw["hold"])) {
    if (!adopted.includes(normalizeHost(name))) continue;
    const message = `${name} is also in 'adopt'. Remove it from one of the two keys.`;
    issues.push({ path: "hold", message });
  }
  if (raw["closePlatformHost"] === true && known.length === 0) {
    const message = "Without custom hosts nothing would be served. Add 'domains', or remove this key.";
    issues.push({ path: "closePlatformHost", message });
  }
  for (const path of raw["dns"] === "manual" ? ["hold", "adopt"] : []) {
    if (namesIn(raw[path]).length === 0) continue;
    const message =
      "This key has no effect with 'dns: manual', which creates no DNS records. Remove this key.";
    issues.push({ path, message });
  }
  return issues;
}

function namesIn(value: unknown): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  const names: readonly unknown[] = Array.isArray(value) ? value : Object.keys(value);
  return names.filter((name) => typeof name === "string");
}
