import { settleWithin } from "../core/concurrency.ts";
import { errorMessage, isStoreUnavailable, StoreUnavailableError } from "../core/errors.ts";
import { type Instant, MAX_STORE_CALL_MS } from "../core/time.ts";
import { isAccountId, OWN_BEGINNING } from "./api-key.ts";

/**
 * The accounts of keys that another system has issued, by their hashes: such a key does not contain its account. What it
 * returns only says where to look; the account decides about every request. Each method rejects with
 * `StoreUnavailableError` if the store cannot be reached.
 */
export interface ImportedKeys {
  /** Durable before the account gets the key. Rejects with `InvalidInputError` if it knows it as another account's. */
  record(hash: string, accountId: string): Promise<void>;
  /** True once a key has been recorded, also if it is gone. */
  exist(): Promise<boolean>;
  /** The account of a key, with one read. `undefined` if none was recorded. */
  findAccount(hash: string): Promise<string | undefined>;
}

/** Returns the account of a key, of which `hash` is the SHA-256 in hexadecimal; `undefined` if it is not valid. */
export type FindAccount = (hash: string, key: string) => string | undefined | Promise<string | undefined>;

/** The pause before the store is asked again whether any key was imported. */
const NONE_IMPORTED_MS = 5_000;

/** `known` has accounts by the hashes of keys, for which nothing is read. A function of the embedder is always called. */
export function createKeyOwners(
  imported: ImportedKeys | undefined,
  accountOf: FindAccount | undefined,
  known: ReadonlyMap<string, string>,
) {
  let someImported = false;
  let noneImportedAt = Infinity;
  let asking: Promise<boolean> | undefined;

  /** True once a key was imported. The store is asked again after a while. */
  async function exist(keys: ImportedKeys, at: Instant): Promise<boolean> {
    if (someImported || (at >= noneImportedAt && at < noneImportedAt + NONE_IMPORTED_MS)) return someImported;
    asking ??= keys.exist().finally(() => {
      asking = undefined;
    });
    if (await asking) someImported = true;
    else noneImportedAt = at;
    return someImported;
  }

  return {
    /** The account of a key, which `isRefused` if it may not be looked up: `mayLookUp` is asked about an unknown one. */
    async find(
      { key, hash }: { readonly key: string; readonly hash: string },
      at: Instant,
      mayLookUp: () => boolean,
    ): Promise<{ readonly accountId?: string | undefined; readonly isRefused?: true }> {
      const source = accountOf ?? imported;
      if (source === undefined || OWN_BEGINNING.test(key)) return {};
      if (typeof source !== "function" && !(await exist(source, at))) return {};
      if (!mayLookUp()) return { isRefused: true };
      if (typeof source === "function") return { accountId: await callAccountOf(source, hash, key) };
      return { accountId: known.get(hash) ?? (await source.findAccount(hash)) };
    },
  };
}

/** Throws without the key if the function of the embedder fails: its message can contain it, and is logged. */
async function callAccountOf(accountOf: FindAccount, hash: string, key: string): Promise<string | undefined> {
  let found: unknown;
  try {
    found = await settleWithin(MAX_STORE_CALL_MS, accountOf(hash, key), "accountOf()");
  } catch (error) {
    const reason = `accountOf(): ${errorMessage(error).replaceAll(key, "…")}`;
    throw isStoreUnavailable(error) ? new StoreUnavailableError(reason) : new Error(reason);
  }
  if ((found ?? undefined) === undefined) return undefined;
  if (isAccountId(found as string)) return found as string;
  throw new TypeError("accountOf() returned no account.");
}
