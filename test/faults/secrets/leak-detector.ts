import { generateKey } from "../../../lib/accounts/api-key.ts";
import { hashKey } from "../../../lib/accounts/hash-key.ts";

/** The secret and the checksum of a key have 38 characters. The first 16 of them are enough to be a leak. */
const SECRET_LENGTH = 38;
const LEAK_LENGTH = 16;

/** Records every text that leaves the service, and finds secrets in them. */
export function createLeakDetector() {
  let recorded: { readonly source: string; readonly text: string }[] = [];
  let texts = 0;
  const secrets = new Map<string, string>();
  return {
    record(source: string, text: string) {
      recorded.push({ source, text });
      texts++;
    },
    addSecret(key: string) {
      secrets.set(key.slice(-SECRET_LENGTH, -SECRET_LENGTH + LEAK_LENGTH), "a key");
      secrets.set(hashKey(key), "a hash");
      secrets.set(Buffer.from(hashKey(key), "hex").toString("base64"), "a hash");
      return key;
    },
    /** Returns the secrets in the texts since the last call: the source and the kind of each. */
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

export type LeakDetector = ReturnType<typeof createLeakDetector>;

/** A well-formed key that was never issued. */
export const unknownKey = (account = "shop"): string => generateKey("live", account);
