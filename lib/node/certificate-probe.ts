import { connect, type PeerCertificate, type TLSSocket } from "node:tls";
import { errorMessage } from "../core/errors.ts";
import { assertLimits } from "../core/time.ts";
import type { CertificateCheck, CertificateErrorCode, CertificateProbe } from "../domains/status/facts.ts";
import { type DnsResolver, recordsIn } from "../domains/verification/resolver.ts";

/** Options of `createCertificateProbe`: the way to the hosts. */
export interface CertificateProbeOptions {
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
  assertLimits({ timeoutMs });
  const unreachable = (reason: string) =>
    ({ outcome: "unreachable", found: `no TLS connection ${reason}` }) as const;

  function connectTo(address: string, servername: string): Promise<CertificateCheck> {
    return new Promise((resolve) => {
      // The certificate is read even if it is not valid, to explain why.
      const socket = connect({ host: address, servername, port, ca, rejectUnauthorized: false });
      const finish = (check: CertificateCheck) => {
        clearTimeout(timer);
        socket.destroy();
        resolve(check);
      };
      const timer = setTimeout(() => finish(unreachable(`within ${timeoutMs} ms`)), timeoutMs);
      socket.on("secureConnect", () => finish(readCertificate(socket)));
      socket.on("error", ({ code, message }: NodeJS.ErrnoException) =>
        finish(unreachable(`(${code ?? message})`)),
      );
    });
  }

  return async (host) => {
    try {
      const [v4, v6] = await Promise.all([resolver(host, "A"), resolver(host, "AAAA")]);
      let check: CertificateCheck = unreachable("(ENOTFOUND)");
      // A machine can have one kind of addresses only.
      for (const [address] of [recordsIn(v4), recordsIn(v6)])
        if (check.outcome === "unreachable" && address !== undefined) check = await connectTo(address, host);
      return check;
    } catch (error) {
      return unreachable(`(${errorMessage(error)})`);
    }
  };
}

function readCertificate(socket: TLSSocket): CertificateCheck {
  const certificate = socket.getPeerCertificate();
  if (socket.authorized) return { outcome: "valid", expiresAt: Date.parse(certificate.valid_to) };
  // The type says Error, but it is the code of the error.
  const error = String(socket.authorizationError);
  const [code, found] = describeCertificateError(error, certificate);
  return { outcome: "invalid", code, found };
}

/** By the error of Node and OpenSSL. Every other one is about trust. */
function describeCertificateError(
  error: string,
  certificate: PeerCertificate,
): [code: CertificateErrorCode, found: string] {
  if (error === "ERR_TLS_CERT_ALTNAME_INVALID")
    return ["wrong_host", `the server presents a certificate for ${namesOf(certificate)}`];
  if (error === "CERT_HAS_EXPIRED") return ["expired", `the certificate expired on ${certificate.valid_to}`];
  if (error === "CERT_NOT_YET_VALID")
    return ["not_yet_valid", `the certificate is not valid before ${certificate.valid_from}`];
  return ["untrusted", `the certificate is not trusted (${error})`];
}

function namesOf({ subjectaltname = "", subject }: PeerCertificate): string {
  return subjectaltname.replaceAll("DNS:", "") || String(subject?.CN ?? "another host");
}
