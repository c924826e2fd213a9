/** A CAA record (RFC 8659, 4.1). */
export interface CaaRecord {
  /** The flags byte; 128 marks a record that must be understood. */
  readonly flags: number;
  readonly tag: string;
  readonly value: string;
}

/** A DS record (RFC 4034, 5.1): the fingerprint of a zone's key, in its parent. */
export interface DsRecord {
  readonly keyTag: number;
  readonly algorithm: number;
}

/** The data of each record type: names in lower case without the trailing dot, addresses as strings. */
export interface RecordData {
  readonly A: string;
  readonly AAAA: string;
  readonly CNAME: string;
  readonly NS: string;
  readonly CAA: CaaRecord;
  /** The primary name server of the zone. */
  readonly SOA: string;
  readonly DS: DsRecord;
  readonly TXT: string;
  readonly MX: string;
}

/** A record type that verification queries. */
export type RecordType = keyof RecordData;

export const DNS_FAILURES = {
  servfail: "SERVFAIL",
  timeout: "no response in time",
  refused: "REFUSED",
  unreachable: "no DNS server at the resolver's address",
  malformed: "malformed response",
  not_authoritative: "not authoritative for the zone",
} as const;

/** Why a lookup failed, which says nothing about the records. `not_authoritative`: of a name server that was asked itself. */
export type DnsFailure = keyof typeof DNS_FAILURES;

/** The answer to a query. `nodata`: the name exists, but has no such record. `nxdomain`: it does not exist. */
export type DnsAnswer<T extends RecordType = RecordType> =
  | {
      readonly outcome: "found";
      readonly records: readonly RecordData[T][];
      /** Of addresses: false if all are behind a CNAME. Missing if nobody can tell: those beside a CNAME go unnoticed. */
      readonly direct?: boolean;
    }
  | {
      readonly outcome: "nodata" | "nxdomain";
      /** The zone that answered, by the SOA record of the response. Missing if the name is an alias. */
      readonly zone?: string;
    }
  | { readonly outcome: "failed"; readonly reason: DnsFailure };

/**
 * Sends one DNS query. An implementation never throws, returns in bounded time, and queries exactly this name,
 * without a search list. The answer may include addresses and CAA records found behind a CNAME.
 */
export interface DnsResolver {
  <T extends RecordType>(name: string, type: T): Promise<DnsAnswer<T>>;
  /** Queries the name servers at these addresses without recursion. @default a cached answer is not told from a present one */
  readonly at?: (addresses: readonly string[]) => DnsResolver;
  /** The same resolver without a memory, if it has one. */
  readonly fresh?: DnsResolver;
}

/** Wraps a resolver for one check of many hosts: it repeats only queries that failed, and none at a zone's name server. */
export function memoizeResolver(fresh: DnsResolver, keepsFailures = false): DnsResolver {
  const answers = new Map<string, Promise<DnsAnswer>>();
  const resolve = <T extends RecordType>(name: string, type: T) => {
    const query = `${type} ${name}`;
    const earlier = answers.get(query);
    if (earlier !== undefined) return earlier as Promise<DnsAnswer<T>>;
    const answer = fresh(name, type);
    answers.set(query, answer);
    const forget = () => answers.delete(query);
    answer.then(({ outcome }) => outcome === "failed" && !keepsFailures && forget(), forget);
    return answer;
  };
  const { at } = fresh;
  if (at === undefined) return Object.assign(resolve, { fresh });
  const servers = new Map<string, DnsResolver>();
  return Object.assign(resolve, {
    fresh,
    at(addresses: readonly string[]) {
      const key = addresses.join();
      const memoized = servers.get(key) ?? memoizeResolver(at(addresses), true);
      servers.set(key, memoized);
      return memoized;
    },
  });
}

export function recordsIn<T extends RecordType>(answer: DnsAnswer<T>): readonly RecordData[T][] {
  return answer.outcome === "found" ? answer.records : [];
}

export function firstFailure(answers: readonly DnsAnswer[]): DnsFailure | undefined {
  return answers.find((answer) => answer.outcome === "failed")?.reason;
}

/** A DNS name in normal form: lower case, without the trailing dot. */
export function normalizeName(name: string): string {
  return name.toLowerCase().replace(/\.$/, "");
}

export interface CnameChain {
  /** The name that was looked up, then every target in order. A single name if it has no CNAME. */
  readonly names: readonly string[];
  readonly last: string;
  /** `exists` and `nxdomain` describe the last name; `loop` also stands for a chain that is too long. */
  readonly end: "exists" | "nxdomain" | "loop" | "failed";
  readonly failure?: DnsFailure;
}

/** As in resolvers, which follow no longer chain. */
const MAX_NAMES = 16;

/** Follows the CNAME records of a name with one query per step, so that it can report a loop. */
export async function followCnames(resolver: DnsResolver, name: string): Promise<CnameChain> {
  const names = [name];
  for (let last = name; ; ) {
    const answer = await resolver(last, "CNAME");
    if (answer.outcome === "failed") return { names, last, end: "failed", failure: answer.reason };
    const next = answer.outcome === "found" ? answer.records[0] : undefined;
    if (next === undefined)
      return { names, last, end: answer.outcome === "nxdomain" ? "nxdomain" : "exists" };
    const seen = names.includes(next);
    names.push(next);
    if (seen || names.length > MAX_NAMES) return { names, last: next, end: "loop" };
    last = next;
  }
}
