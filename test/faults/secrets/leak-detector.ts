import { generateKey } from "../../../lib/accounts/api-key.ts";
import { hashKey } from "../../../lib/accounts/hash-key.ts";

/** Records every text that leaves the service, and finds secrets in them. */
export interface LeakDetector {
  /** Records a text and its source. */
  record(source: string, text: string): void;
  /** Adds a key and its hash to the secrets, and returns the key. */
  addSecret(key: string): string;
  /** Returns the secrets in the texts since the last call: the source and the kind of each. */
  leaks(): readonly string[];
  /** The number of recorded texts. */
  readonly texts: number;
  readonly secrets: number;
}

/** The secret and the checksum of a key have 38 characters. The first 16 of them are enough to be a leak. */
const SECRET_LENGTH = 38;
const LEAK_LENGTH = 16;

export function createLeakDetector(): LeakDetector {
  let recorded: { readonly source: string; readonly text: string }[] = [];
  let texts = 0;
  const secrets = new Map<string, string>();
  return {
    record(source, text) {
      recorded.push({ source, text });
      texts++;
    },
    addSecret(key) {
      secrets.set(key.slice(-SECRET_LENGTH, -SECRET_LENGTH + LEAK_LENGTH), "a key");
      secrets.set(hashKey(key), "a hash");
      secrets.set(Buffer.from(hashKey(key), "hex").toString("base64"), "a hash");
      return key;
    },
    leaks() {
      const searched = recorded;
      recorded = [];
      return searched.flatMap(({ source, text }) =>
        [...secrets].flatMap(([secret, kind]) => (text.includes(secret) ? [`${source}: ${kind}`] : [])),
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
export const unknownKey = (account = "shop"): string => generateKey("live", account);
