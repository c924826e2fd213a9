/** One CAA record (RFC 8659, 4.1). */
export interface CaaRecord {
  /** The flags byte; 128 marks a record that must be understood. */
  readonly flags: number;
  readonly tag: string;
  readonly value: string;
}

/** What the records of each type are read as: names in lower case without a trailing dot, addresses as text. */
export interface RecordData {
  readonly A: string;
  readonly AAAA: string;
  readonly CNAME: string;
  readonly NS: string;
  readonly CAA: CaaRecord;
}

/** A type of record that verification asks for. */
export type RecordType = keyof RecordData;

/** Why a question stayed without an answer. It says nothing about the records. */
export type DnsFailure = "servfail" | "timeout" | "refused" | "unreachable" | "malformed";

/** The answer to one question. A name that does not exist and a name without such records are told apart. */
export type DnsAnswer<T extends RecordType = RecordType> =
  | { readonly outcome: "found"; readonly records: readonly RecordData[T][] }
  | { readonly outcome: "nodata" }
  | { readonly outcome: "nxdomain" }
  | { readonly outcome: "silent"; readonly why: DnsFailure };

/**
 * Asks DNS one question. Promises: it never throws, it ends in bounded time, it asks for exactly this name with
 * no search list. Records that a resolver finds behind a CNAME may be among the answer.
 */
export type DnsResolver = <T extends RecordType>(name: string, type: T) => Promise<DnsAnswer<T>>;

/** A resolver that asks every question once, for the length of one check of many hosts. */
export function memoizeResolver(resolver: DnsResolver): DnsResolver {
  const asked = new Map<string, Promise<DnsAnswer>>();
  return <T extends RecordType>(name: string, type: T) => {
    const question = `${type} ${name}`;
    const answer = asked.get(question) ?? resolver(name, type);
    asked.set(question, answer);
    return answer as Promise<DnsAnswer<T>>;
  };
}

/** The records of an answer; none where there are none or nothing was answered. */
export function recordsIn<T extends RecordType>(answer: DnsAnswer<T>): readonly RecordData[T][] {
  return answer.outcome === "found" ? answer.records : [];
}
