import { generateKey, hashKey } from "../../../lib/accounts/api-key.ts";

/** Hears everything that leaves the service, and finds the secrets in it. */
export interface Listener {
  /** Takes note of a text, and of where it was seen. */
  hear(where: string, text: string): void;
  /** From now on this key is a secret, and so is its hash. */
  keep(key: string): string;
  /** Where a secret was heard since the last look: the place, and what it was. */
  leaks(): readonly string[];
  /** Texts heard in all. */
  readonly texts: number;
  readonly secrets: number;
}

/** The random part of a key is 32 characters and a checksum of 6; half of it would be a find already. */
const CHECKED = 38;
const FIND = 16;

export function createListener(): Listener {
  let heard: { readonly where: string; readonly text: string }[] = [];
  let texts = 0;
  const secrets = new Map<string, string>();
  return {
    hear(where, text) {
      heard.push({ where, text });
      texts++;
    },
    keep(key) {
      secrets.set(key.slice(-CHECKED, -CHECKED + FIND), "a key");
      secrets.set(hashKey(key), "a hash");
      secrets.set(Buffer.from(hashKey(key), "hex").toString("base64"), "a hash");
      return key;
    },
    leaks() {
      const looked = heard;
      heard = [];
      return looked.flatMap(({ where, text }) =>
        [...secrets].flatMap(([secret, what]) => (text.includes(secret) ? [`${where}: ${what}`] : [])),
      );
    },
    get texts() {
      return texts;
    },
    get secrets() {
      return secrets.size;
    },
  };
}

/** A key that is valid in form, and that nobody issued. */
export const strangersKey = (account = "shop"): string => generateKey("live", account);
