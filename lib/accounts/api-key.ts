import { BASE62, randomBase62 } from "../core/base62.ts";

/** The environment of a key: the second part of `so_test_…`, visible to secret scanners and to people. */
export type Environment = "test" | "live";

export function isEnvironment(name: unknown): name is Environment {
  return name === "test" || name === "live";
}

/** A key as a request presents it, without its secret. */
export interface ParsedKey {
  readonly accountId: string;
  /** SHA-256 of the whole key, hexadecimal. Keys are stored in this form only. */
  readonly hash: string;
}

const SECRET_CHARS = 32;
const CHECKSUM_CHARS = 6;
const FORMAT = new RegExp(
  `^so_(?:test|live)_([a-z0-9][a-z0-9-]{0,31})_[0-9A-Za-z]{${SECRET_CHARS + CHECKSUM_CHARS}}$`,
);

/** True for an account's identifier: 1 to 32 lower-case letters, digits and hyphens, without a leading hyphen. */
export function isAccountId(text: string): boolean {
  return /^[a-z0-9][a-z0-9-]{0,31}$/.test(text);
}

/** Generates a key: `so_<environment>_<account>_<secret><checksum>`. Show it once and store its hash. */
export function generateKey(environment: Environment, accountId: string): string {
  const body = `so_${environment}_${accountId}_${randomBase62(SECRET_CHARS)}`;
  return body + checksum(body);
}

/** The account of a key with the right form and checksum. */
export function accountIdOf(key: string): string | undefined {
  const accountId = FORMAT.exec(key)?.[1];
  return accountId !== undefined && key.endsWith(checksum(key.slice(0, -CHECKSUM_CHARS)))
    ? accountId
    : undefined;
}

/** The start of our keys. Any other key that has it is mistyped, and is not looked up among those of another system. */
export const OWN_BEGINNING = /^so_(?:test|live)_/;

export async function digestKey(key: string): Promise<string> {
  if (nodeSha256 !== undefined) return nodeSha256("sha256", key);
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key));
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Node's hash function, if there is one: it takes 0.2 µs, `crypto.subtle` 30. No bundle needs Node for it. */
export const nodeSha256 = /* @__PURE__ */ findNodeHash();

function findNodeHash(): ((algorithm: string, data: string) => string) | undefined {
  const { process } = globalThis as { process?: { getBuiltinModule?: (id: string) => unknown } };
  const crypto = process?.getBuiltinModule?.("node:crypto") as
    | { hash?: (algorithm: string, data: string) => string }
    | undefined;
  return crypto?.hash;
}

/** The last 116 bits of a key's hash as 20 characters of base62, which identify a key of an account. */
export function shortHash(hash: string): string {
  if (!/^[0-9a-f]{64}$/.test(hash)) return hash;
  let rest = BigInt(`0x${hash.slice(-29)}`);
  let text = "";
  for (let digit = 0; digit < 20; digit++) {
    text = BASE62[Number(rest % 62n)] + text;
    rest /= 62n;
  }
  return text;
}

/** The identifier of a new key, `<account>.<end of its short hash>`. So whoever finds a key can name it. */
export function keyIdOf(accountId: string, hash: string): string {
  return `${accountId}.${shortHash(hash).slice(-10)}`;
}

/** Removes the secrets of keys and of webhooks, for logs. The start of each key remains, to identify its account. */
export function redactKeys(text: string): string {
  return text.replace(KEY_PATTERN, "$1…").replace(/(whsec_)[A-Za-z0-9+/=]+/gi, "$1…");
}

/** Also matches keys that are incomplete, mistyped, or percent-encoded any number of times. */
const KEY_PATTERN =
  /(so(?:_|%(?:25)*5[Ff])(?:test|live)(?:_|%(?:25)*5[Ff])(?:[a-z0-9-]|%(?:25)*2[Dd])+(?:_|%(?:25)*5[Ff]))[0-9A-Za-z]+/g;

function checksum(body: string): string {
  let rest = crc32(body);
  let text = "";
  for (let digit = 0; digit < CHECKSUM_CHARS; digit++) {
    text = BASE62[rest % 62] + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}

const CRC_POLYNOMIAL = 0xedb8_8320;

/** CRC-32 (ISO 3309, as in gzip) of an ASCII string. */
function crc32(text: string): number {
  let crc = 0xffff_ffff;
  for (let at = 0; at < text.length; at++) {
    crc ^= text.charCodeAt(at);
    for (let bit = 0; bit < 8; bit++) crc = (crc & 1 ? CRC_POLYNOMIAL : 0) ^ (crc >>> 1);
  }
  return (crc ^ 0xffff_ffff) >>> 0;
}
