import { notPromise } from "../core/concurrency.ts";
import type { Instant } from "../core/time.ts";
import type { StoreOperation } from "../orders/store-operation.ts";
import { type Account, isActive } from "./account.ts";
import type { AccountStore } from "./account-store.ts";
import { type Admission, type AdmissionPolicy, decideAdmission, type InvalidKey } from "./admission.ts";
import { type ParsedKey, shortHash } from "./api-key.ts";

/** The time for which an account decides about invalid keys after it was read. */
const TTL_MS = 1_000;

/** The number of invalid keys of one account that the store decides about before the account is read. */
const MAX_DECIDED_BY_STORE = 3;

/** The largest number of accounts with invalid keys that are kept in memory. */
const MAX_ACCOUNTS = 1_000;

/** The largest number of accounts whose identifiers are kept in memory. */
const MAX_KNOWN_ACCOUNTS = 10_000;

/** The largest number of keys that are kept of the accounts that were listed last. */
const MAX_LISTED_KEYS = 20_000;

/** The pause before the accounts are listed again: the time for which an account of another process can be unknown. */
const LISTING_PAUSE_MS = 5_000;

/** The pause before the accounts are listed again if there were too many. */
const LONG_LISTING_PAUSE_MS = 60_000;

interface ProbedAccount {
  invalidKeys: number;
  /** The account as it was read last; `undefined` if it does not exist or has not been read. */
  account?: Account | undefined;
  readAt: Instant;
  reading?: Promise<void> | undefined;
}

const UNKNOWN_KEY: InvalidKey = { ok: false, code: "invalid_api_key", reason: "unknown_key" };

/**
 * Recognises invalid keys by their accounts. A store may pay for each with a write to the account, and anyone can forge
 * keys for it. So after the first few, the account is read at most once a second. See lib/stores/README.md#admission.
 */
export function createInvalidKeys(accounts: AccountStore) {
  const probed = new Map<string, ProbedAccount>();
  /** Accounts that exist: all of them if `isComplete`. The store decides about one that was deleted. */
  const known = new Set<string>();
  let isComplete = false;
  /** The hashes of active keys when the accounts were listed last. */
  let listedKeys: ReadonlySet<string> = new Set();
  let listedAt = Infinity;
  let listedUntil = -Infinity;
  let listing: Promise<void> | undefined;

  function addKnown(accountId: string): void {
    if (known.has(accountId)) return;
    if (known.size >= MAX_KNOWN_ACCOUNTS) {
      known.clear();
      isComplete = false;
    }
    known.add(accountId);
  }

  /** Inserts an account as the most recent one, and evicts the oldest. */
  function probe(accountId: string): ProbedAccount {
    const account = probed.get(accountId) ?? { invalidKeys: 0, readAt: -Infinity };
    probed.delete(accountId);
    probed.set(accountId, account);
    const [oldest] = probed.keys();
    if (probed.size > MAX_ACCOUNTS && oldest !== undefined) probed.delete(oldest);
    return account;
  }

  /** True if the account has no place without evicting one that is being read, or was just read. */
  function isCrowdedOut(accountId: string, at: Instant): boolean {
    if (probed.size < MAX_ACCOUNTS || probed.has(accountId)) return false;
    const [oldest] = probed.values();
    return oldest !== undefined && (oldest.reading !== undefined || isCurrent(oldest, at));
  }

  /** `undefined` if not all accounts are known. */
  async function exists(accountId: string, at: Instant): Promise<boolean | undefined> {
    if (known.has(accountId)) return true;
    await refreshListing(at);
    return known.has(accountId) || (isComplete ? false : undefined);
  }

  async function refreshListing(at: Instant): Promise<void> {
    if (at >= listedAt && at < listedUntil) return;
    listing ??= listAccounts(at).finally(() => {
      listing = undefined;
    });
    await listing;
  }

  async function listAccounts(at: Instant): Promise<void> {
    const listed: string[] = [];
    const active = new Set<string>();
    isComplete = false;
    try {
      const accountsFound = notPromise(accounts.list(undefined, MAX_KNOWN_ACCOUNTS + 1), "list()");
      for await (const { id, keys } of accountsFound) {
        listed.push(id);
        for (const key of keys) if (isActive(key, at) && active.size < MAX_LISTED_KEYS) active.add(key.hash);
      }
      isComplete = listed.length <= MAX_KNOWN_ACCOUNTS;
      listedKeys = active;
    } catch {
      // The process may not list accounts, or the store fails.
    }
    if (isComplete) listed.forEach(addKnown);
    listedAt = at;
    listedUntil = at + (listed.length <= MAX_KNOWN_ACCOUNTS ? LISTING_PAUSE_MS : LONG_LISTING_PAUSE_MS);
  }

  /** A store can know a key by its short hash only. */
  const isInList = (hash: string) => listedKeys.has(hash) || listedKeys.has(shortHash(hash));

  /** Reads the account. Concurrent callers share one read. */
  function read(probedAccount: ProbedAccount, accountId: string, at: Instant): Promise<void> {
    probedAccount.reading ??= accounts
      .find(accountId)
      .then((account) => {
        if (account !== undefined) addKnown(accountId);
        probedAccount.account = account;
        probedAccount.readAt = at;
      })
      .finally(() => {
        probedAccount.reading = undefined;
      });
    return probedAccount.reading;
  }

  return {
    addKnown,

    /** Drops the cached account, so that it is read again. */
    discardReading: (accountId: string) => void probed.delete(accountId),

    async admit(
      key: ParsedKey,
      at: Instant,
      policy: AdmissionPolicy,
      operation: StoreOperation | undefined,
    ): Promise<Admission> {
      const { accountId } = key;
      const account = probed.size > 0 ? probed.get(accountId) : undefined;
      if (account !== undefined && account.invalidKeys >= MAX_DECIDED_BY_STORE) {
        if (!isCurrent(account, at) && explain(account, key, at, policy)) await read(account, accountId, at);
        const invalid = explain(account, key, at, policy);
        if (invalid !== undefined) return invalid;
      }
      const admission = await accounts.admit(key, at, policy, operation);
      if (!admission.ok && admission.code === "invalid_api_key") probe(accountId).invalidKeys++;
      else if (!known.has(accountId)) addKnown(accountId);
      return admission;
    },

    /** See `RejectionCache`. Lists the accounts at most every five seconds. */
    async isListed(hash: string, at: Instant): Promise<boolean> {
      await refreshListing(at);
      return isInList(hash);
    },

    /** See `RejectionCache`. Reads an account at most once a second. */
    async findInvalid(
      key: ParsedKey,
      at: Instant,
      policy: AdmissionPolicy,
      takeReserve: () => boolean,
    ): Promise<InvalidKey | undefined> {
      const { accountId, hash } = key;
      if (isInList(hash)) return undefined;
      const isExisting = await exists(accountId, at);
      if (isExisting === false) return UNKNOWN_KEY;
      if ((isExisting === undefined || isCrowdedOut(accountId, at)) && !takeReserve()) return UNKNOWN_KEY;
      const account = probe(accountId);
      if (!isCurrent(account, at)) await read(account, accountId, at);
      return explain(account, key, at, policy);
    },
  };
}

function isCurrent({ readAt }: ProbedAccount, at: Instant): boolean {
  return at >= readAt && at < readAt + TTL_MS;
}

/** Returns why a key is invalid by the account that was read, otherwise `undefined`. */
function explain(
  { account }: ProbedAccount,
  { accountId, hash }: ParsedKey,
  at: Instant,
  policy: AdmissionPolicy | undefined,
): InvalidKey | undefined {
  // A store can know a key by its short hash only, if it has lost the rest.
  const key = account?.keys.find((each) => shortHash(each.hash) === shortHash(hash));
  const state = account && key && { ...account, accountId, key, rejections: account.rejections[key.id] };
  const { admission } = decideAdmission(state, at, policy);
  return !admission.ok && admission.code === "invalid_api_key" ? admission : undefined;
}
