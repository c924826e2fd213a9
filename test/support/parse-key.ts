import { accountIdOf, type ParsedKey } from "../../lib/accounts/api-key.ts";
import { hashKey } from "../../lib/accounts/hash-key.ts";

/** What a request with this key presents to a store; `undefined` if it is malformed. */
export function parseKey(key: string): ParsedKey | undefined {
  const accountId = accountIdOf(key);
  return accountId === undefined ? undefined : { accountId, hash: hashKey(key) };
}
