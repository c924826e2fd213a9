import { type HostnameErrorCode, type ParsedHostname, parseHostname } from "./hostname.ts";
import { isWithin } from "./zone.ts";

/**
 * Parses a host that can serve a project: a public hostname in any spelling. Returns an error for everything that
 * `parseHostname` rejects, for special-use names such as `orders.local`, and for the cloud platform's own names.
 */
export function parseCustomHost(text: string): ParsedHostname {
  const parsed = parseHostname(text);
  if (!parsed.ok) return parsed;
  const { hostname } = parsed;
  const reserved = findReserved(hostname, SPECIAL_USE_DOMAINS);
  if (reserved !== undefined) {
    return reject(
      "special_use",
      `${hostname} ends with .${reserved}, a special-use name: nobody can register it, and no certificate is issued for it.`,
    );
  }
  if (findReserved(hostname, PLATFORM_DOMAINS) === undefined) return parsed;
  return reject("platform_host", `${hostname} belongs to the cloud platform, whose own host always serves.`);
}

/** Names that are reserved for special use (RFC 6761, 6762, 7686, 9476; ICANN for .internal). */
const SPECIAL_USE_DOMAINS = [
  "alt",
  "arpa",
  "example",
  "internal",
  "invalid",
  "local",
  "localhost",
  "onion",
  "test",
] as const;

/** The domains under which AWS assigns names, such as those of API Gateway. */
const PLATFORM_DOMAINS = [
  "amazonaws.com",
  "amazonaws.com.cn",
  "api.aws",
  "on.aws",
  "cloudfront.net",
] as const;

function findReserved(hostname: string, domains: readonly string[]): string | undefined {
  return domains.find((domain) => isWithin(hostname, domain));
}

function reject(code: HostnameErrorCode, reason: string): ParsedHostname {
  const message = `${reason} Write a host under a domain of your own, such as orders.example.com.`;
  return { ok: false, code, message };
}
