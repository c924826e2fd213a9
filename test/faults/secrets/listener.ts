import { generateKey, hashKey } from "../../../lib/accounts/api-key.ts";

/** Records every text that leaves the service, and finds secrets in them. */
export interface Listener {
  /** Records a text and its source. */
  hear(where: string, text: string): void;
  /** Adds a key and its hash to the secrets, and returns the key. */
  keep(key: string): string;
  /** Returns the secrets in the texts since the last call: the source and the kind of each. */
  leaks(): readonly string[];
  /** The number of recorded texts. */
  readonly texts: number;
  readonly secrets: number;
}

/** The secret and the checksum of a key have 38 characters. The first 16 of them are enough to be a leak. */
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

/** A well-formed key that was never issued. */
export const strangersKey = (account = "shop"): string => generateKey("live", account);
