import type { DnsResolver } from "../../lib/domains/verification/resolver.ts";
import { type Verification, verifyHost } from "../../lib/domains/verification/verify-host.ts";

/** Looks up the records of hosts whose DNS is managed elsewhere. */
export interface RecordObserver {
  /** Finds out whether the record of a host points to its target. */
  checkRecord(host: string, target: string): Promise<Pick<Verification, "dns" | "reasons">>;
  /** Finds out whether a validation record is set. False also if DNS does not answer. */
  isSet(record: { readonly name: string; readonly value: string }): Promise<boolean>;
}

/** Creates an observer that queries DNS. */
export function createRecordObserver(resolver: DnsResolver): RecordObserver {
  return {
    checkRecord: (host, target) => verifyHost(host, { resolver, target }),
    async isSet({ name, value }) {
      const answer = await resolver(name, "CNAME");
      return answer.outcome === "found" && answer.records.includes(value);
    },
  };
}
