import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import { accountIdOf, nodeSha256, type ParsedKey } from "./api-key.ts";
import type { ImportedKeys } from "./imported-keys.ts";

/**
 * SHA-256 of a key, hexadecimal. The secret has 190 bits, so a fast hash is sufficient, and timing reveals only the
 * hash of a guess. Without Node, a library computes it, because `crypto.subtle` is asynchronous.
 */
export function hashKey(key: string): string {
  return nodeSha256?.("sha256", key) ?? bytesToHex(sha256(new TextEncoder().encode(key)));
}

/** Parses a key, or returns `undefined` if it is malformed. The checksum detects typing errors without a store call. */
export function parseKey(key: string): ParsedKey | undefined {
  const accountId = accountIdOf(key);
  return accountId === undefined ? undefined : { accountId, hash: hashKey(key) };
}

/** The largest number of words of a string that can each be a key of another system. */
const MAX_WORDS = 50;

/** Does the same as `findKey`, and also finds a key that was imported into the store. */
export async function findAnyKey(text: string, imported?: ImportedKeys): Promise<ParsedKey | undefined> {
  const own = findKey(text);
  const words = new Set(
    [/[\s"'`,;]+/, /[\s"'`,;:=()<>{}[\]]+/].flatMap((ends) => text.split(ends)).filter(Boolean),
  );
  if (own !== undefined || imported === undefined || words.size > MAX_WORDS || !(await imported.exist()))
    return own;
  const keys: ParsedKey[] = [];
  for (const hash of [...words].map(hashKey)) {
    const accountId = await imported.findAccount(hash);
    if (accountId !== undefined) keys.push({ accountId, hash });
  }
  return keys.length === 1 ? keys[0] : undefined;
}

/** Finds the key within a string, such as a header or a line of a log, or returns `undefined` unless there is exactly one. */
export function findKey(text: string): ParsedKey | undefined {
  const keys = new Map<string, ParsedKey>();
  for (const word of text.split(/[^\w-]+/)) {
    const key = parseKey(word);
    if (key !== undefined) keys.set(key.hash, key);
  }
  const [first, second] = keys.values();
  return second === undefined ? first : undefined;
}
