import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import { mapBounded } from "../core/concurrency.ts";
import { accountIdOf, keyIdOf, nodeSha256, OWN_BEGINNING } from "./api-key.ts";
import type { ImportedKeys } from "./imported-keys.ts";

/**
 * SHA-256 of a key, hexadecimal. The secret has 190 bits, so a fast hash is sufficient, and timing reveals only the
 * hash of a guess. Without Node, a library computes it, because `crypto.subtle` is asynchronous.
 */
export function hashKey(key: string): string {
  return nodeSha256?.("sha256", key) ?? bytesToHex(sha256(new TextEncoder().encode(key)));
}

export interface FoundKey {
  readonly accountId: string;
  readonly keyId: string;
}

/** Finds the keys in a string, such as a line of a log. The store is asked about every word, for imported ones. */
export async function findKeys(text: string, imported?: ImportedKeys): Promise<readonly FoundKey[]> {
  const accounts = new Map<string, string>();
  for (const word of text.split(/[^\w-]+/)) {
    const accountId = accountIdOf(word);
    if (accountId !== undefined) accounts.set(hashKey(word), accountId);
  }
  if (await imported?.exist()) {
    const words = new Set([/[\s"'`,;]+/, /[\s"'`,;:=()<>{}[\]]+/].flatMap((ends) => text.split(ends)));
    const possible = [...words].filter((word) => word !== "" && !OWN_BEGINNING.test(word));
    await mapBounded(possible.map(hashKey), PARALLEL_READS, async (hash) => {
      const accountId = await imported?.findAccount(hash);
      if (accountId !== undefined && !accounts.has(hash)) accounts.set(hash, accountId);
    });
  }
  return [...accounts].map(([hash, accountId]) => ({ accountId, keyId: keyIdOf(accountId, hash) }));
}

const PARALLEL_READS = 16;
