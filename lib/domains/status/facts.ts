import type { Instant } from "../../core/time.ts";
import { explainTopLevel } from "../hostname.ts";
import type { ConfiguredHost } from "../mapping.ts";
import { type DnsRecord, recordsAt, type Target } from "../records.ts";
import type { CertificateAuthority } from "../verification/caa.ts";
import { findZone, type ZoneHints } from "../verification/find-zone.ts";
import { type Deployment, findApexRecord } from "../verification/providers.ts";
import { type DnsResolver, recordsIn } from "../verification/resolver.ts";
import type { ZoneMatch } from "../zone.ts";
import type { AspectState, Reason } from "./reasons.ts";

/** The state of the host's records: `ok` if they point to the platform. */
export type DnsState = "ok" | AspectState<"dns">;

/** The state of the CAA records: `allowed` if the authority may issue a certificate for the host. */
export type CertificateState = "allowed" | AspectState<"certificate">;

/** What was seen of a host at one time. What was not looked at is missing, and changes nothing. */
export interface HostFacts {
  readonly dns?: DnsState;
  readonly certificate?: CertificateState;
  readonly reasons?: readonly Pick<Reason, "code">[];
  /** The certificate that a visitor gets. It counts only while the records point to the platform. */
  readonly served?: Pick<CertificateCheck, "outcome">;
  /** What the certificate authority says about its own work, if the platform can ask it. */
  readonly authority?: AuthorityAnswer;
}

/** `timed_out`: it has stopped trying to validate the host. `rejected`: it issues none, or what it issued has ended. */
export type AuthorityAnswer = "requested" | "issued" | "rejected" | "timed_out";

/** The result of verifying a host against live DNS: three aspects as one state, with everything that is wrong. */
export interface Verification extends Omit<HostFacts, "served" | "authority"> {
  readonly host: string;
  /**
   * `verified` if all are right, `pending_dns` while the records are wrong, `needs_attention` if only the certificate is
   * forbidden. `unknown` if a lookup failed, which changes no state of the host.
   */
  readonly state: "verified" | "pending_dns" | "needs_attention" | "unknown";
  /** Present only in the state `needs_attention`. */
  readonly attention?: "certificate_forbidden";
  readonly dns: DnsState;
  readonly certificate: CertificateState;
  /** The value that is set at the DNS provider. Present only if it points to the target. */
  readonly found?: string;
  readonly reasons: readonly Reason[];
  /** Facts that change no state, such as a limit in a CAA record. */
  readonly notes: readonly string[];
}

/** Options of `verifyHost`. */
export interface VerificationOptions {
  readonly resolver: DnsResolver;
  /**
   * The platform host that the record must point to, or the addresses of the one machine that serves the host. Omit it if the
   * platform has not assigned one yet.
   */
  readonly target?: Target | undefined;
  /**
   * The certificate authorities from which the certificate may be requested. One that may issue it suffices.
   * @default Amazon's
   */
  readonly authorities?: readonly CertificateAuthority[];
  /** The zone of the host. @default found in DNS */
  readonly zone?: string | undefined;
  /** Zones that are known to exist. They count where DNS does not say which zone a host is in. */
  readonly knownZones?: readonly string[];
  /**
   * Who sets the records, for the advice. On one machine, the server in front requests the certificates, with the methods that
   * it has.
   * @default "manual"
   */
  readonly deployment?: Deployment | undefined;
  /** The record by which the authority validates the host, if it is set by hand. Renewals need it, too. @default none */
  readonly validationRecord?: { readonly name: string; readonly value: string } | undefined;
}

/** Says that the top-level domain is not known, or that the zone is a guess. */
export function explainZone({ zone, zoneSource }: Pick<ZoneMatch, "zone" | "zoneSource">): readonly string[] {
  if (zoneSource !== "public_suffix_list") return explainTopLevel(zone);
  const guess = `DNS did not say which zone this is, so ${zone} is a guess by the public suffix list. If it is another one, name it with --zone HOST=ZONE.`;
  return [...explainTopLevel(zone), guess];
}

/** The reason why a visitor's client does not accept the certificate that a host presents. */
export type CertificateErrorCode = "wrong_host" | "expired" | "not_yet_valid" | "untrusted";

/** The certificate of a host as a visitor sees it. */
export type CertificateCheck =
  | { readonly outcome: "valid"; readonly expiresAt: Instant }
  /** The server presents another certificate: for example, the platform's own while the host's is pending. */
  | { readonly outcome: "invalid"; readonly code: CertificateErrorCode; readonly found: string }
  /** There was no TLS connection, which says nothing about the certificate. */
  | { readonly outcome: "unreachable"; readonly found: string };

/** Reads the certificate of a host. An implementation never throws and returns in bounded time. */
export type CertificateProbe = (host: string) => Promise<CertificateCheck>;

/** Finds the records that a host needs: in the zone that DNS has, and at an apex of the type that its provider has. */
export async function findRecords(
  resolver: DnsResolver,
  host: ConfiguredHost,
  target: Target,
  hints: ZoneHints,
): Promise<readonly DnsRecord[]> {
  const records = recordsAt(await findZone(resolver, host.host, hints), host, target);
  const [{ type, zone } = {}] = records;
  if (type !== "ALIAS" || zone === undefined) return records;
  const own = findApexRecord(recordsIn<"NS">(await resolver(zone, "NS")));
  return own === undefined ? records : records.map((record) => ({ ...record, type: own, alternatives: [] }));
}
