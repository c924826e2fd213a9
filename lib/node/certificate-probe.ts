/**
 * The certificate of a host as a visitor sees it, for following a custom domain until it is live:
 *
 *     const probe = createCertificateProbe({ resolver: createDnsResolver() });
 *     await probe("orders.example.com"); // { outcome: "valid", expiresAt: 1771545600000 }
 */
import type { LookupFunction } from "node:net";
import { connect, type PeerCertificate, type TLSSocket } from "node:tls";
import { errorMessage } from "../core/errors.ts";
import type { CertificateCheck, CertificateErrorCode, CertificateProbe } from "../domains/observation.ts";
import { type DnsResolver, recordsIn } from "../domains/verification/resolver.ts";

/** Options of `createCertificateProbe`: the way to the hosts. */
export interface CertificateProbeOptions {
  /** Looks up the addresses of a host. */
  readonly resolver: DnsResolver;
  /** @default 443 */
  readonly port?: number;
  /** The certificates of the authorities to trust, as PEM. @default those that Node trusts */
  readonly ca?: string;
  /** The time to wait for a connection, in milliseconds. @default 5000 */
  readonly timeoutMs?: number;
}

/** Creates a probe that connects with TLS, reads the certificate and closes the connection. */
export function createCertificateProbe({
  resolver,
  port = 443,
  ca,
  timeoutMs = 5000,
}: CertificateProbeOptions): CertificateProbe {
  const lookup = createLookup(resolver);
  return (host) =>
    new Promise((resolve) => {
      const socket = connect({
        host,
        servername: host,
        port,
        lookup,
        // The certificate is read even if it is not valid, to explain why.
        rejectUnauthorized: false,
        ...(ca === undefined ? {} : { ca }),
      });
      const finish = (check: CertificateCheck) => {
        clearTimeout(timer);
        socket.destroy();
        resolve(check);
      };
      const timer = setTimeout(
        () => finish({ outcome: "unreachable", found: `no TLS connection within ${timeoutMs} ms` }),
        timeoutMs,
      );
      socket.on("secureConnect", () => finish(readCertificate(socket)));
      socket.on("error", ({ code, message }: NodeJS.ErrnoException) =>
        finish({ outcome: "unreachable", found: `no TLS connection (${code ?? message})` }),
      );
    });
}

function readCertificate(socket: TLSSocket): CertificateCheck {
  const certificate = socket.getPeerCertificate();
  if (socket.authorized) return { outcome: "valid", expiresAt: Date.parse(certificate.valid_to) };
  // The type says Error, but it is the code of the error.
  const error = String(socket.authorizationError);
  const code = CERTIFICATE_ERRORS[error] ?? "untrusted";
  return { outcome: "invalid", code, found: describe(code, certificate, error) };
}

/** By the error of Node and OpenSSL. Every other one is about trust. */
const CERTIFICATE_ERRORS: Readonly<Record<string, CertificateErrorCode>> = {
  ERR_TLS_CERT_ALTNAME_INVALID: "wrong_host",
  CERT_HAS_EXPIRED: "expired",
  CERT_NOT_YET_VALID: "not_yet_valid",
};

function describe(code: CertificateErrorCode, certificate: PeerCertificate, error: string): string {
  switch (code) {
    case "wrong_host":
      return `the server presents a certificate for ${namesOf(certificate)}`;
    case "expired":
      return `the certificate expired on ${certificate.valid_to}`;
    case "not_yet_valid":
      return `the certificate is not valid before ${certificate.valid_from}`;
    case "untrusted":
      return `the certificate is not trusted (${error})`;
  }
}

function namesOf({ subjectaltname = "", subject }: PeerCertificate): string {
  return subjectaltname.replaceAll("DNS:", "") || String(subject?.CN ?? "another host");
}

/** Looks up addresses with the same resolver as everything else, instead of with the system's. */
function createLookup(resolver: DnsResolver): LookupFunction {
  const lookUp = async (host: string) => {
    const [v4, v6] = await Promise.all([resolver(host, "A"), resolver(host, "AAAA")]);
    return [
      ...recordsIn(v4).map((address) => ({ address, family: 4 })),
      ...recordsIn(v6).map((address) => ({ address, family: 6 })),
    ];
  };
  return (host, { all }, callback) => {
    const found = (addresses: Awaited<ReturnType<typeof lookUp>>) => {
      const [first] = addresses;
      if (first === undefined)
        callback(Object.assign(new Error(`${host} has no address`), { code: "ENOTFOUND" }), []);
      else if (all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    };
    // A resolver never rejects, and returns an answer. If one does not, it must not end the process.
    lookUp(host).then(found, (error) => callback(new Error(errorMessage(error)), []));
  };
}
