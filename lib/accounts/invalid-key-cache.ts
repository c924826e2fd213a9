import type { Instant } from "../clock.ts";
import type { Account } from "./account.ts";
import type { AccountStore } from "./account-store.ts";
import { type AdmissionPolicy, decideAdmission, type InvalidKey, type KeyState } from "./admission.ts";
import { type ParsedKey, shortHash } from "./api-key.ts";

/** How long an account that was read is used to reject its invalid keys. */
const TTL_MS = 1_000;

/** The number of invalid keys of one account that the store decides about before the account is read. */
const MAX_DECIDED_BY_STORE = 3;

/** The number of accounts with invalid keys to remember. */
const MAX_ENTRIES = 1_000;

/** An account for which invalid keys were presented. */
interface Entry {
  invalidKeys: number;
  /** The account as it was read last; `undefined` if it does not exist or has not been read. */
  account: Account | undefined;
  readAt: Instant;
  reading: Promise<void> | undefined;
}

/**
 * Rejects invalid keys without a write: a store may pay for each of them with a write to the account, and anyone who
 * knows an account's identifier can forge any number of keys. After the first few, the account is read at most once a
 * second and decides about its invalid keys. A valid key is always passed on to the store. So a new key works at once
 * if it is issued through this store, and within a second otherwise. See lib/README.md#admission.
 */
export function withInvalidKeyCache(accounts: AccountStore): AccountStore {
  const entries = new Map<string, Entry>();

  /** Inserts as most recent and evicts the oldest entry. */
  function countInvalidKey(accountId: string): void {
    const entry = entries.get(accountId) ?? {
      invalidKeys: 0,
      account: undefined,
      readAt: Number.NEGATIVE_INFINITY,
      reading: undefined,
    };
    entry.invalidKeys++;
    entries.delete(accountId);
    entries.set(accountId, entry);
    if (entries.size <= MAX_ENTRIES) return;
    for (const oldest of entries.keys()) {
      entries.delete(oldest);
      break;
    }
  }

  /** Reads the account. Concurrent callers share one read. */
  function read(entry: Entry, accountId: string, at: Instant): Promise<void> {
    entry.reading ??= accounts
      .find(accountId)
      .then((account) => {
        entry.account = account;
        entry.readAt = at;
      })
      .finally(() => {
        entry.reading = undefined;
      });
    return entry.reading;
  }

  return {
    ...accounts,

    async admit(key, at, policy, work) {
      const { accountId } = key;
      const entry = entries.get(accountId);
      if (entry !== undefined && entry.invalidKeys >= MAX_DECIDED_BY_STORE) {
        const isFresh = at >= entry.readAt && at < entry.readAt + TTL_MS;
        if (!isFresh && findInvalid(entry, key, at, policy) !== undefined) await read(entry, accountId, at);
        const invalid = findInvalid(entry, key, at, policy);
        if (invalid !== undefined) return invalid;
      }
      const admission = await accounts.admit(key, at, policy, work);
      if (!admission.ok && admission.code === "invalid_api_key") countInvalidKey(accountId);
      return admission;
    },

    async create(settings) {
      const result = await accounts.create(settings);
      entries.delete(settings.id);
      return result;
    },

    async update(id, updater) {
      const result = await accounts.update(id, updater);
      entries.delete(id);
      return result;
    },
  };
}

/** Why the key is invalid, by the account that was read. */
function findInvalid(
  { account }: Entry,
  key: ParsedKey,
  at: Instant,
  policy: AdmissionPolicy | undefined,
): InvalidKey | undefined {
  const { admission } = decideAdmission(account && keyStateOf(account, key), at, policy);
  return !admission.ok && admission.code === "invalid_api_key" ? admission : undefined;
}

function keyStateOf(account: Account, { accountId, hash }: ParsedKey): KeyState | undefined {
  // A store can know a key by its short hash only, if it has lost the rest.
  const key = account.keys.find((known) => shortHash(known.hash) === shortHash(hash));
  return key && { ...account, accountId, key, rejections: account.rejections[key.id] };
}
