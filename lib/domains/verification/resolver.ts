/** A CAA record (RFC 8659, 4.1). */
export interface CaaRecord {
  /** The flags byte; 128 marks a record that must be understood. */
  readonly flags: number;
  readonly tag: string;
  readonly value: string;
}

/** The data of each record type: names in lower case without the trailing dot, addresses as text. */
export interface RecordData {
  readonly A: string;
  readonly AAAA: string;
  readonly CNAME: string;
  readonly NS: string;
  readonly CAA: CaaRecord;
}

/** A record type that verification queries. */
export type RecordType = keyof RecordData;

/** Why a lookup failed. A failed lookup says nothing about the records. */
export type DnsFailure = "servfail" | "timeout" | "refused" | "unreachable" | "malformed";

/** The answer to a query. `nodata`: the name exists, but has no such record. `nxdomain`: it does not exist. */
export type DnsAnswer<T extends RecordType = RecordType> =
  | {
      readonly outcome: "found";
      readonly records: readonly RecordData[T][];
      /**
       * For addresses: true if the name itself has some, false if all of them are behind its CNAME. Missing if the
       * resolver cannot tell; then a CNAME with address records beside it is not detected.
       */
      readonly direct?: boolean;
    }
  | { readonly outcome: "nodata" }
  | { readonly outcome: "nxdomain" }
  | { readonly outcome: "failed"; readonly reason: DnsFailure };

/**
 * Sends one DNS query. An implementation never throws, returns in bounded time, and queries exactly this name,
 * without a search list. The answer may include records found behind a CNAME.
 */
export type DnsResolver = <T extends RecordType>(name: string, type: T) => Promise<DnsAnswer<T>>;

/** Wraps a resolver so that it sends each query only once. Meant for one check of many hosts. */
export function memoizeResolver(resolver: DnsResolver): DnsResolver {
  const answers = new Map<string, Promise<DnsAnswer>>();
  return <T extends RecordType>(name: string, type: T) => {
    const query = `${type} ${name}`;
    const answer = answers.get(query) ?? resolver(name, type);
    answers.set(query, answer);
    return answer as Promise<DnsAnswer<T>>;
  };
}

/** The records of an answer; empty if there are none or the lookup failed. */
export function recordsIn<T extends RecordType>(answer: DnsAnswer<T>): readonly RecordData[T][] {
  return answer.outcome === "found" ? answer.records : [];
}

/**
 * True if a resolver is a name server that answers only for its own zones, such as that of the zone: it also refuses
 * queries for the zone's parent. Then a refusal says nothing about other names.
 */
export async function answersOnlyOwnZones(resolver: DnsResolver, zone: string): Promise<boolean> {
  const parent = await resolver(zone.slice(zone.indexOf(".") + 1), "NS");
  return parent.outcome === "failed" && parent.reason === "refused";
}

/** The reason of the first failed lookup, if one failed. */
export function firstFailure(answers: readonly DnsAnswer[]): DnsFailure | undefined {
  return answers.find((answer) => answer.outcome === "failed")?.reason;
}
