import type { Instant } from "../../core/time.ts";
import type { Target } from "../records.ts";
import type { CertificateAuthority } from "../verification/caa.ts";
import type { ZoneHints } from "../verification/find-zone.ts";
import type { Deployment } from "../verification/providers.ts";
import type { DnsResolver } from "../verification/resolver.ts";
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
export interface Verification extends Required<Pick<HostFacts, "dns" | "certificate">> {
  readonly host: string;
  /** `needs_attention` if only the certificate is forbidden, `unknown` if a lookup failed, which changes no `HostStatus`. */
  readonly state: "verified" | "pending_dns" | "needs_attention" | "unknown";
  /** Present only in the state `needs_attention`. */
  readonly attention?: "certificate_forbidden";
  /** The value that is set at the DNS provider. Present only if it points to the target. */
  readonly found?: string;
  readonly reasons: readonly Reason[];
  /** Facts that change no state, such as a limit in a CAA record. */
  readonly notes: readonly string[];
}

/** Options of `verifyHost`. */
export interface VerificationOptions extends ZoneHints {
  readonly resolver: DnsResolver;
  /** What the records must point to: the platform host, or the addresses of one machine. Omit it if it is not assigned yet. */
  readonly target?: Target | undefined;
  /** The authorities that may be asked for the certificate. One that may issue it suffices. @default Amazon's */
  readonly authorities?: readonly CertificateAuthority[];
  /** Who sets the records. On one machine, the server in front requests the certificates by its methods. @default "manual" */
  readonly deployment?: Deployment | undefined;
  /** The record by which the authority validates the host, if it is set by hand. Renewals need it, too. @default none */
  readonly validationRecord?: { readonly name: string; readonly value: string } | undefined;
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
