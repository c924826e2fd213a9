import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import { mapBounded } from "../core/concurrency.ts";
import { accountIdOf, nodeSha256, OWN_BEGINNING, type ParsedKey } from "./api-key.ts";
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

/**
 * Finds the keys within a string, such as a header or a line of a log: ours, and those that were imported into the
 * store, which is asked about every word.
 */
export async function findKeys(text: string, imported?: ImportedKeys): Promise<readonly ParsedKey[]> {
  const keys = new Map<string, ParsedKey>();
  for (const word of text.split(/[^\w-]+/)) {
    const key = parseKey(word);
    if (key !== undefined) keys.set(key.hash, key);
  }
  if (await imported?.exist()) {
    const words = new Set([/[\s"'`,;]+/, /[\s"'`,;:=()<>{}[\]]+/].flatMap((ends) => text.split(ends)));
    const possible = [...words].filter((word) => word !== "" && !OWN_BEGINNING.test(word));
    await mapBounded(possible.map(hashKey), PARALLEL_READS, async (hash) => {
      const accountId = await imported?.findAccount(hash);
      if (accountId !== undefined && !keys.has(hash)) keys.set(hash, { accountId, hash });
    });
  }
  return [...keys.values()];
}

const PARALLEL_READS = 16;
