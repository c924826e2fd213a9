import { generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";

/** A certificate with its key, as PEM. */
export interface IssuedCertificate {
  readonly cert: string;
  readonly key: string;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export function createTestAuthority(name = "Test authority") {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const certify = (subject: string, key: KeyObject, from: number, to: number, extension: Buffer) =>
    toPem(signCertificate({ issuer: name, subject, key, from, to, extension }, privateKey));
  const now = Date.now();
  return {
    /** The root certificate, as PEM. */
    cert: certify(name, publicKey, now - DAY_MS * 400, now + DAY_MS * 400, IS_AUTHORITY),
    /** Issues a certificate for hosts; by default it was issued an hour ago and is valid for 90 days. */
    issue(
      hosts: readonly string[],
      { from = now - HOUR_MS, to = now + DAY_MS * 90 } = {},
    ): IssuedCertificate {
      const leaf = generateKeyPairSync("ec", { namedCurve: "P-256" });
      return {
        cert: certify(hosts[0] ?? "", leaf.publicKey, from, to, alternativeNames(hosts)),
        key: leaf.privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
      };
    },
  };
}

interface Contents {
  readonly issuer: string;
  readonly subject: string;
  readonly key: KeyObject;
  readonly from: number;
  readonly to: number;
  readonly extension: Buffer;
}

/** Signs a certificate (RFC 5280, 4.1) with ECDSA and SHA-256. */
function signCertificate(contents: Contents, authority: KeyObject): Buffer {
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ECDSA_WITH_SHA256,
    distinguishedName(contents.issuer),
    sequence(time(contents.from), time(contents.to)),
    distinguishedName(contents.subject),
    contents.key.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(contents.extension)),
  );
  const signature = sign("sha256", body, authority);
  return sequence(body, ECDSA_WITH_SHA256, der(0x03, Buffer.concat([Buffer.from([0]), signature])));
}

/** Encodes a value with its tag and length (X.690). */
function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(0x30, ...parts);
}

function objectIdentifier(...bytes: readonly number[]): Buffer {
  return der(0x06, Buffer.from(bytes));
}

const ECDSA_WITH_SHA256 = sequence(objectIdentifier(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02));

function distinguishedName(commonName: string): Buffer {
  const attribute = sequence(objectIdentifier(0x55, 0x04, 0x03), der(0x0c, Buffer.from(commonName)));
  return sequence(der(0x31, attribute));
}

function time(at: number): Buffer {
  return der(0x18, Buffer.from(new Date(at).toISOString().replace(/[-:T]|\.\d+/g, "")));
}

const TRUE = der(0x01, Buffer.from([0xff]));
const IS_AUTHORITY = sequence(objectIdentifier(0x55, 0x1d, 0x13), TRUE, der(0x04, sequence(TRUE)));

function alternativeNames(hosts: readonly string[]): Buffer {
  const names = sequence(...hosts.map((host) => der(0x82, Buffer.from(host))));
  return sequence(objectIdentifier(0x55, 0x1d, 0x11), der(0x04, names));
}

function toPem(certificate: Buffer): string {
  const lines = certificate.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}
