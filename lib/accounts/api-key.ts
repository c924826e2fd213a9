import { hash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";

/** Which world a key belongs to: the middle of `so_test_…`, told to secret scanners and to people. */
export type Environment = "test" | "live";

/** What a presented key says of itself. The key itself is not kept. */
export interface ParsedKey {
  readonly accountId: string;
  /** SHA-256 of the whole key, hexadecimal: the only form of it that is ever stored. */
  readonly hash: string;
}

const SECRET_LENGTH = 32;
const CHECKSUM_LENGTH = 6;
const FORMAT = new RegExp(
  `^so_(?:test|live)_([a-z0-9][a-z0-9-]{0,31})_[0-9A-Za-z]{${SECRET_LENGTH + CHECKSUM_LENGTH}}$`,
);

/** An account's identifier: lower-case letters, digits and hyphens, 32 at most (decision 8). */
export const ACCOUNT_ID: RegExp = /^[a-z0-9][a-z0-9-]{0,31}$/;

/** Makes a new key (decision 9): `so_<environment>_<account>_<secret><checksum>`. Show it once, store its hash. */
export function generateKey(environment: Environment, accountId: string): string {
  const body = `so_${environment}_${accountId}_${randomBase62(SECRET_LENGTH)}`;
  return body + checksum(body);
}

/**
 * Reads a presented key. `undefined` for anything that cannot be a key, a mistyped one included: its checksum
 * says so without a look at the store.
 */
export function parseKey(key: string): ParsedKey | undefined {
  const accountId = FORMAT.exec(key)?.[1];
  if (accountId === undefined) return undefined;
  const body = key.slice(0, -CHECKSUM_LENGTH);
  return key.endsWith(checksum(body)) ? { accountId, hash: hashKey(key) } : undefined;
}

/**
 * SHA-256 of a key, hexadecimal. The secret has 190 bits, so a fast hash is the right one. Stores look keys up by it:
 * what the time of a comparison tells is about the hash of a guess, and no key can be made to fit a hash.
 */
export function hashKey(key: string): string {
  return hash("sha256", key);
}

/**
 * A text for people and logs without the keys in it: each keeps its beginning, which says whose it was. Whatever looks
 * like a key is taken for one, a piece of one included.
 */
export function redactKeys(text: string): string {
  return text.replace(KEY_PATTERN, "$1…");
}

const KEY_PATTERN = /(so_(?:test|live)_[a-z0-9-]+_)[0-9A-Za-z]+/g;

/** Random base62 text of a length, every character alike likely, from the system's CSPRNG. */
export function randomBase62(length: number): string {
  let text = "";
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      // 248 is the largest multiple of 62 in a byte; what lies above would favour the first characters.
      if (byte < 248 && text.length < length) text += BASE62[byte % 62];
    }
  }
  return text;
}

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

function checksum(body: string): string {
  let rest = crc32(body);
  let text = "";
  for (let digit = 0; digit < CHECKSUM_LENGTH; digit++) {
    text = BASE62[rest % 62] + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}
