/**
 * DNS over the wire, for the verification of custom domains. Asks the machine's resolvers, or the ones given:
 *
 *     const resolver = createDnsResolver({ servers: ["1.1.1.1:53"] });
 *     await resolver("orders.example.com", "CNAME");
 */
import { promises as dns } from "node:dns";
import { normalizeName } from "../domains/hostname.ts";
import type {
  CaaRecord,
  DnsAnswer,
  DnsFailure,
  DnsResolver,
  RecordData,
  RecordType,
} from "../domains/verification/resolver.ts";
import { InvalidInputError } from "../errors.ts";

/** Whom to ask, and how long to wait. */
export interface DnsResolverOptions {
  /**
   * Addresses with or without a port: `1.1.1.1`, `127.0.0.1:5353`, `[2606:4700::1111]:53`.
   * @default the resolvers of the machine
   */
  readonly servers?: readonly string[];
  /**
   * How long to wait for each try, in milliseconds.
   * @default 2000
   */
  readonly timeoutMs?: number;
  /**
   * How often to try each server.
   * @default 2
   */
  readonly tries?: number;
}

/**
 * Makes a resolver that asks over UDP, and over TCP where an answer is too large for that. Throws an
 * `InvalidInputError` for a server that is no address.
 */
export function createDnsResolver({
  servers,
  timeoutMs = 2000,
  tries = 2,
}: DnsResolverOptions = {}): DnsResolver {
  // Without a greatest time-out the second try would wait twice as long as the first.
  const resolver = new dns.Resolver({ timeout: timeoutMs, tries, maxTimeout: timeoutMs });
  if (servers !== undefined) setServers(resolver, servers);
  const ask: Asks = {
    A: (name) => resolver.resolve4(name),
    AAAA: (name) => resolver.resolve6(name),
    CNAME: async (name) => (await resolver.resolveCname(name)).map(normalizeName),
    NS: async (name) => (await resolver.resolveNs(name)).map(normalizeName),
    CAA: async (name) => (await resolver.resolveCaa(name)).map(toCaa),
  };
  return async (name, type) => {
    try {
      return answerOf(await ask[type](name));
    } catch (error) {
      return failureOf((error as NodeJS.ErrnoException).code);
    }
  };
}

function setServers(resolver: dns.Resolver, servers: readonly string[]) {
  try {
    resolver.setServers([...servers]);
  } catch {
    const message = `Write addresses of DNS servers, such as 1.1.1.1 or 127.0.0.1:5353, instead of ${servers.join(", ")}.`;
    throw new InvalidInputError([{ path: "servers", message }]);
  }
}

type Asks = { readonly [T in RecordType]: (name: string) => Promise<readonly RecordData[T][]> };

function answerOf<T extends RecordType>(records: readonly RecordData[T][]): DnsAnswer<T> {
  return records.length === 0 ? { outcome: "nodata" } : { outcome: "found", records };
}

function failureOf(code: string | undefined): Exclude<DnsAnswer, { outcome: "found" }> {
  if (code === dns.NODATA) return { outcome: "nodata" };
  if (code === dns.NOTFOUND) return { outcome: "nxdomain" };
  return { outcome: "silent", why: SILENCES[code ?? ""] ?? "malformed" };
}

const SILENCES: Readonly<Record<string, DnsFailure>> = {
  [dns.SERVFAIL]: "servfail",
  [dns.TIMEOUT]: "timeout",
  [dns.CANCELLED]: "timeout",
  [dns.REFUSED]: "refused",
  [dns.NOTIMP]: "refused",
  [dns.CONNREFUSED]: "unreachable",
};

/** Node gives a CAA record as an object with `critical`, `type`, and one more field that is named by the tag. */
function toCaa({ critical, ...property }: { readonly critical: number }): CaaRecord {
  const [tag, value] = Object.entries(property).find(([name]) => name !== "type") ?? ["", ""];
  return { flags: critical, tag, value: String(value) };
}
