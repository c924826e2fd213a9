import { crc32 } from "./crc32.ts";
import { sha256 } from "./sha256.ts";

/** The environment of a key: the second part of `so_test_…`, visible to secret scanners and to people. */
export type Environment = "test" | "live";

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
  return typeof text === "string" && /^[a-z0-9][a-z0-9-]{0,31}$/.test(text);
}

/**
 * Generates a key: `so_<environment>_<account>_<secret><checksum>`. Show it once and store its hash.
 * See lib/README.md#accounts-and-keys.
 */
export function generateKey(environment: Environment, accountId: string): string {
  const body = `so_${environment}_${accountId}_${randomBase62(SECRET_CHARS)}`;
  return body + checksum(body);
}

/** Parses a key, or returns `undefined` if it is malformed. The checksum detects typing errors without a store call. */
export function parseKey(key: string): ParsedKey | undefined {
  const accountId = FORMAT.exec(key)?.[1];
  if (accountId === undefined) return undefined;
  const body = key.slice(0, -CHECKSUM_CHARS);
  return key.endsWith(checksum(body)) ? { accountId, hash: hashKey(key) } : undefined;
}

/**
 * SHA-256 of a key, hexadecimal. The secret has 190 bits, so a fast hash is sufficient. Stores look keys up by their
 * hash, so timing reveals only the hash of a guess.
 */
export function hashKey(key: string): string {
  return sha256(key);
}

/**
 * A short form of a key's hash: its last 116 bits as 20 characters of base62. It identifies a key among those of its
 * account where space is scarce. A hash of another form stays as it is.
 */
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

/** Removes the secrets of keys from a text for logs. The start of each key remains, to identify its account. */
export function redactKeys(text: string): string {
  return text.replace(KEY_PATTERN, "$1…");
}

/** Also matches keys that are incomplete, mistyped, or percent-encoded any number of times. */
const KEY_PATTERN =
  /(so(?:_|%(?:25)*5[Ff])(?:test|live)(?:_|%(?:25)*5[Ff])(?:[a-z0-9-]|%(?:25)*2[Dd])+(?:_|%(?:25)*5[Ff]))[0-9A-Za-z]+/g;

/** Random base62 text, uniformly distributed, from a CSPRNG. */
export function randomBase62(length: number): string {
  let text = "";
  while (text.length < length) {
    for (const byte of crypto.getRandomValues(new Uint8Array(length))) {
      // 248 is the largest multiple of 62 in a byte. Larger values would favour the first characters.
      if (byte < 248 && text.length < length) text += BASE62[byte % 62];
    }
  }
  return text;
}

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

function checksum(body: string): string {
  let rest = crc32(body);
  let text = "";
  for (let digit = 0; digit < CHECKSUM_CHARS; digit++) {
    text = BASE62[rest % 62] + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}
