import type { Instant } from "../../clock.ts";

/** Why a visitor's client does not accept the certificate that a host presents. */
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
