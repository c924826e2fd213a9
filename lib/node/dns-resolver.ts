/**
 * DNS over the network, for the verification of custom domains. Queries the system's resolvers, or given ones.
 *
 * ```ts
 * const resolver = createDnsResolver({ servers: ["1.1.1.1:53"] });
 * const answer = await resolver("orders.example.com", "CNAME");
 * ```
 */
import { promises as dns } from "node:dns";
import { normalizeName } from "../domains/normalize-name.ts";
import type {
  CaaRecord,
  DnsAnswer,
  DnsFailure,
  DnsResolver,
  RecordData,
  RecordType,
} from "../domains/verification/resolver.ts";
import { InvalidInputError, invalidInput } from "../errors.ts";
import { findAddressOwners } from "./address-owners.ts";

/** Which servers to query, and how long to wait. */
export interface DnsResolverOptions {
  /**
   * Addresses with or without a port: `1.1.1.1`, `127.0.0.1:5353`, `[2606:4700::1111]:53`.
   * @default the system's resolvers
   */
  readonly servers?: readonly string[];
  /**
   * How long to wait for each attempt, in milliseconds.
   * @default 2000
   */
  readonly timeoutMs?: number;
  /**
   * How many attempts to make per server.
   * @default 2
   */
  readonly maxAttempts?: number;
}

/**
 * Creates a resolver that queries over UDP, and over TCP if the answer is too large for that. Throws an
 * `InvalidInputError` if a server is not an IP address, or if there is none.
 */
export function createDnsResolver({
  servers,
  timeoutMs = 2000,
  maxAttempts = 2,
}: DnsResolverOptions = {}): DnsResolver {
  // Without maxTimeout each attempt would wait twice as long as the one before.
  const resolver = new dns.Resolver({ timeout: timeoutMs, tries: maxAttempts, maxTimeout: timeoutMs });
  if (servers !== undefined) setServers(resolver, servers);
  const queries: Queries = {
    A: (name) => resolver.resolve4(name),
    AAAA: (name) => resolver.resolve6(name),
    CNAME: async (name) => (await resolver.resolveCname(name)).map(normalizeName),
    NS: async (name) => (await resolver.resolveNs(name)).map(normalizeName),
    CAA: async (name) => (await resolver.resolveCaa(name)).map(toCaaRecord),
  };
  const [server = ""] = resolver.getServers();
  return async (name, type) => {
    try {
      const answer = toAnswer(await queries[type](name));
      if (answer.outcome !== "found" || (type !== "A" && type !== "AAAA")) return answer;
      const owners = await findAddressOwners(server, name, type, timeoutMs);
      return owners === undefined ? answer : { ...answer, direct: owners.includes(normalizeName(name)) };
    } catch (error) {
      return toFailure((error as NodeJS.ErrnoException).code);
    }
  };
}

function setServers(resolver: dns.Resolver, servers: readonly string[]) {
  if (servers.length === 0)
    throw invalidInput("servers", "The list is empty. Leave it out for the system's resolvers.");
  try {
    resolver.setServers([...servers]);
  } catch {
    const message = `${servers.join(", ") || "An empty text"} is not the address of a DNS server. Write an IP address, optionally with a port, such as 1.1.1.1 or 127.0.0.1:5353.`;
    throw new InvalidInputError([{ path: "servers", message }]);
  }
}

type Queries = { readonly [T in RecordType]: (name: string) => Promise<readonly RecordData[T][]> };

function toAnswer<T extends RecordType>(records: readonly RecordData[T][]): DnsAnswer<T> {
  return records.length === 0 ? { outcome: "nodata" } : { outcome: "found", records };
}

function toFailure(code: string | undefined): Exclude<DnsAnswer, { outcome: "found" }> {
  if (code === dns.NODATA) return { outcome: "nodata" };
  if (code === dns.NOTFOUND) return { outcome: "nxdomain" };
  return { outcome: "failed", reason: FAILURES[code ?? ""] ?? "malformed" };
}

const FAILURES: Readonly<Record<string, DnsFailure>> = {
  [dns.SERVFAIL]: "servfail",
  [dns.TIMEOUT]: "timeout",
  [dns.CANCELLED]: "timeout",
  [dns.REFUSED]: "refused",
  [dns.NOTIMP]: "refused",
  [dns.CONNREFUSED]: "unreachable",
};

/** Node returns a CAA record as an object with `critical`, `type`, and a field named after the tag. */
function toCaaRecord({ critical, ...property }: { readonly critical: number }): CaaRecord {
  const [tag, value] = Object.entries(property).find(([name]) => name !== "type") ?? ["", ""];
  return { flags: critical, tag, value: String(value) };
}
