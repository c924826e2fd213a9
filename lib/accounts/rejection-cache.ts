import type { Instant } from "../core/time.ts";
import type { StoreOperation } from "../orders/store-operation.ts";
import { MINUTE_MS, secondsUntil } from "../plans/windows.ts";
import type { Account } from "./account.ts";
import type { AccountStore } from "./account-store.ts";
import {
  type Admission,
  type AdmissionPolicy,
  type BanPolicy,
  DEFAULT_BAN_POLICY,
  decideAdmission,
  type InvalidKey,
  type KeyState,
  type Rejection,
} from "./admission.ts";
import { type ParsedKey, randomBase62, shortHash } from "./api-key.ts";

/** The lifetime of a cached rejection. */
const TTL_MS = 1_000;

/** The number of keys whose rejections are cached. For any further key, the store is queried each time. */
const MAX_KEYS = 10_000;

/**
 * The rejections from memory that may be unreported: a fifth of the ban threshold, so that each process delays a ban by
 * this share at most. The next request is decided by the store, which first counts these.
 */
function maxUnreported({ maxRejections }: BanPolicy): number {
  return Math.ceil(maxRejections / 5);
}

/**
 * The time for which a rejection stays unreported if no other follows. With the call itself, that is within a second.
 */
const REPORT_AFTER_MS = 900;

/** The number of retries of a report: they take about a minute, as the rejections of another minute do not matter. */
const MAX_FAILURES = 60;

/** The number of reports that are sent at once when many keys are due. */
const MAX_PARALLEL_REPORTS = 16;

/** The number of invalid keys of one account that the store decides about before the account is read. */
const MAX_DECIDED_BY_STORE = 3;

/** The largest number of accounts with invalid keys that are cached. */
const MAX_ACCOUNTS = 1_000;

/** The largest number of accounts whose identifiers are kept in memory to recognise those that do not exist. */
const MAX_LISTED_ACCOUNTS = 10_000;

/** The pause before the accounts are listed again, as a multiple of the time that listing them took. */
const LISTING_PAUSE_FACTOR = 20;

/** The longest such pause: so long a new account can be unknown to a process that did not create it. */
const MAX_LISTING_PAUSE_MS = 5_000;

/** The pause before the accounts are listed again if there are too many, or this process may not list them. */
const LISTING_RETRY_MS = 60_000;

/** A rejection by the store, and the requests that were rejected from memory since. */
interface RejectedKey {
  readonly key: ParsedKey;
  rejection: Rejection;
  /** The instant at which the store rejected the key. `-Infinity` if the store has to decide the next request. */
  at: Instant;
  /** The highest count of the minute that the store has returned, or that it has confirmed since. */
  counted: number;
  /** Requests rejected from memory that have not been reported to the store, and when the last one was. */
  unreported: number;
  lastRejectedAt: Instant;
  policy: BanPolicy;
  /** Reports that failed. The store may have counted them, so they are retried with the same token. */
  failed: Report[];
  failures: number;
  /** The report under way. Until it ends, no further request is rejected from memory. */
  reporting?: Promise<void> | undefined;
  /** The store call that decides again. Other requests of the key wait for it. */
  deciding?: Promise<unknown> | undefined;
}

interface Report {
  readonly count: number;
  readonly token: string;
}

/** An account for which invalid keys were presented. */
interface ProbedAccount {
  invalidKeys: number;
  /** The account as it was read last; `undefined` if it does not exist or has not been read. */
  account?: Account | undefined;
  readAt: Instant;
  reading?: Promise<void> | undefined;
}

/** An account store with a cache of rejections. */
export interface RejectionCache extends AccountStore {
  /**
   * Returns why a key is invalid, `undefined` if the store has to decide. For callers who have presented many invalid
   * keys: whatever accounts they make up, the accounts are listed about once a second, and each of the last 1,000 that
   * exist is read at most once a second. A valid key is never invalid here, unless another process has issued it within
   * the last second, or has created its account within the last 5 seconds and the time that listing them takes.
   */
  findInvalid(key: ParsedKey, at: Instant, policy?: AdmissionPolicy): Promise<InvalidKey | undefined>;
}

/**
 * Caches rejections for one second, so that a flood of rejected requests costs next to nothing. A request is never
 * admitted from memory.
 *
 * Rejections served from memory are counted. By default, the store decides every fifth one at the latest and gets those
 * before it, and what is left within a second. One that would reach the ban is passed on at once. So one process is
 * exact, and each further one adds at most four rejections before the ban: a fifth of the threshold. An unban or a better
 * plan takes effect at once if it is applied through this store, and within a second otherwise.
 *
 * Invalid keys are rejected without a write: a store may pay for each of them with a write to the account, and anyone
 * who knows an account's identifier can forge any number of keys. After the first few, the account is read at most once
 * a second and decides about its invalid keys. A valid key is always passed on to the store. So a new key works at once
 * if it is issued through this store, and within a second otherwise. See lib/README.md#admission.
 */
export function withRejectionCache(accounts: AccountStore): RejectionCache {
  const rejected = new Map<string, RejectedKey>();
  const probed = new Map<string, ProbedAccount>();
  /** The keys with rejections to report. One timer serves all of them, and only while there are any. */
  const unreported = new Set<RejectedKey>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** The identifiers of all accounts; `undefined` if they are not known. */
  let listed: Set<string> | undefined;
  let listedAt = Number.POSITIVE_INFINITY;
  let listedUntil = Number.NEGATIVE_INFINITY;
  /** Accounts that were created through this store while the others were being listed. */
  const createdMeanwhile = new Set<string>();
  let listing: Promise<void> | undefined;
  /** Changes by operators so far. */
  let changes = 0;

  /** Saves a rejection by the store. Responses can arrive out of order. */
  function remember(key: ParsedKey, rejection: Rejection, at: Instant, policy: BanPolicy): void {
    const { hash } = key;
    const known = rejected.get(hash);
    const { windowStart, count } = rejection.rejections;
    const knownStart = known?.rejection.rejections.windowStart ?? windowStart;
    const isBan = rejection.code === "api_key_banned";
    if (!isBan && windowStart < knownStart) return;
    const entry = known ?? {
      key,
      rejection,
      at,
      counted: 0,
      unreported: 0,
      lastRejectedAt: at,
      policy,
      failed: [],
      failures: 0,
    };
    if (isBan || windowStart > knownStart) forgetUnreported(entry);
    entry.counted = windowStart === knownStart ? Math.max(entry.counted, count) : count;
    entry.rejection = rejection;
    entry.at = at;
    // The map is in the order of the last decision, and its oldest entries make room.
    rejected.delete(hash);
    for (const [oldest, candidate] of rejected) {
      if (rejected.size < MAX_KEYS || isFresh(candidate, at) || unreported.has(candidate)) break;
      rejected.delete(oldest);
    }
    if (rejected.size < MAX_KEYS) rejected.set(hash, entry);
  }

  /** Rejects a request from memory, unless the store has to know of it first. */
  function rejectFromMemory(entry: RejectedKey, at: Instant, policy: BanPolicy): Rejection | undefined {
    const { rejection } = entry;
    if (!isFresh(entry, at) || entry.unreported >= maxUnreported(policy) || reachesBan(entry, policy))
      return undefined;
    if (rejection.code === "rate_limit_exceeded") {
      entry.unreported += 1;
      entry.lastRejectedAt = at;
      entry.policy = policy;
      unreported.add(entry);
      if (timer === undefined) timer = startTimer();
    }
    const retryAfterSeconds = secondsUntil(rejection.quota.resetsAt, at);
    return { ...rejection, startsBan: false, retryAfterSeconds };
  }

  /** Reports the rejections that were served from memory. If that fails, they stay to be reported. */
  function report(entry: RejectedKey): Promise<void> {
    entry.reporting ??= sendReports(entry).finally(() => {
      entry.reporting = undefined;
    });
    return entry.reporting;
  }

  async function sendReports(entry: RejectedKey): Promise<void> {
    const { key, policy } = entry;
    // The store may have counted in a minute that a clock ahead of this one has opened.
    const at = Math.max(entry.lastRejectedAt, entry.rejection.rejections.windowStart);
    const { failed } = entry;
    if (entry.unreported > 0) failed.push({ count: entry.unreported, token: randomBase62(6) });
    entry.unreported = 0;
    try {
      for (let next = failed[0]; next !== undefined; next = failed[0]) {
        await accounts.recordRejections(key, next.count, at, policy, next.token);
        failed.shift();
        if (failed === entry.failed) entry.counted += next.count;
      }
      entry.failures = 0;
      if (entry.unreported === 0) unreported.delete(entry);
    } catch (error) {
      entry.at = Number.NEGATIVE_INFINITY;
      if (++entry.failures > MAX_FAILURES) forgetUnreported(entry);
      throw error;
    }
  }

  function startTimer(): ReturnType<typeof setTimeout> {
    const started = setTimeout(() => void reportAll(), REPORT_AFTER_MS);
    // The process can end: what is left then is at most a fifth of what leads to a ban.
    (started as { unref?: () => void }).unref?.();
    return started;
  }

  async function reportAll(): Promise<void> {
    const due = [...unreported].values();
    const work = Array.from({ length: MAX_PARALLEL_REPORTS }, async () => {
      for (const entry of due) await report(entry).catch(() => {});
    });
    await Promise.all(work);
    timer = unreported.size > 0 ? startTimer() : undefined;
  }

  function forgetUnreported(entry: RejectedKey): void {
    entry.unreported = 0;
    entry.failed = [];
    unreported.delete(entry);
  }

  /** Lets the store decide, after it has been told of the rejections from memory. */
  async function query(
    key: ParsedKey,
    at: Instant,
    policy: AdmissionPolicy,
    operation: StoreOperation | undefined,
  ): Promise<Admission> {
    const entry = rejected.get(key.hash);
    // Rejections of an earlier minute no longer count.
    if (entry !== undefined && !isSameMinute(entry, at)) forgetUnreported(entry);
    if (entry !== undefined && unreported.has(entry)) await report(entry);
    const changesBefore = changes;
    const admission = await decide(key, at, policy, operation);
    if (isRejection(admission)) {
      // A rejection that was decided before a change must not outlast it.
      remember(key, admission, changes === changesBefore ? at : Number.NEGATIVE_INFINITY, policy);
    } else if (rejected.size > 0) expire(key.hash);
    return admission;
  }

  /** Makes the store decide the next request of a key. What is not yet reported is kept. */
  function expire(hash: string): void {
    const entry = rejected.get(hash);
    if (entry === undefined) return;
    entry.at = Number.NEGATIVE_INFINITY;
    if (!unreported.has(entry)) rejected.delete(hash);
  }

  function expireAccount(accountId: string): void {
    changes++;
    probed.delete(accountId);
    for (const [hash, { key }] of rejected) if (key.accountId === accountId) expire(hash);
  }

  /** The decision of the account that was read last about an invalid key, otherwise that of the store. */
  async function decide(
    key: ParsedKey,
    at: Instant,
    policy: AdmissionPolicy,
    operation: StoreOperation | undefined,
  ): Promise<Admission> {
    const account = probed.size > 0 ? probed.get(key.accountId) : undefined;
    if (account !== undefined && account.invalidKeys >= MAX_DECIDED_BY_STORE) {
      const isCurrent = at >= account.readAt && at < account.readAt + TTL_MS;
      if (!isCurrent && explainInvalid(account, key, at, policy) !== undefined) await read(account, key, at);
      const invalid = explainInvalid(account, key, at, policy);
      if (invalid !== undefined) return invalid;
    }
    const admission = await accounts.admit(key, at, policy, operation);
    if (!admission.ok && admission.code === "invalid_api_key") probe(key.accountId).invalidKeys++;
    return admission;
  }

  /** Inserts an account as the most recent one, and evicts the oldest. */
  function probe(accountId: string): ProbedAccount {
    const account = probed.get(accountId) ?? { invalidKeys: 0, readAt: Number.NEGATIVE_INFINITY };
    probed.delete(accountId);
    probed.set(accountId, account);
    const [oldest] = probed.keys();
    if (probed.size > MAX_ACCOUNTS && oldest !== undefined) probed.delete(oldest);
    return account;
  }

  /** True unless the account is known not to exist. */
  async function mayExist(accountId: string, at: Instant): Promise<boolean> {
    if (listed?.has(accountId)) return true;
    if (at < listedAt || at >= listedUntil) {
      listing ??= listAccounts(at).finally(() => {
        listing = undefined;
      });
      await listing;
    }
    return listed === undefined || listed.has(accountId);
  }

  async function listAccounts(at: Instant): Promise<void> {
    const startedAt = performance.now();
    const ids = new Set<string>();
    try {
      for await (const { id } of accounts.list(undefined, MAX_LISTED_ACCOUNTS + 1)) ids.add(id);
    } catch {
      // Then the store decides about every key, and fails by itself if it cannot be reached.
      ids.clear();
    }
    if (ids.size > 0) for (const id of createdMeanwhile) ids.add(id);
    createdMeanwhile.clear();
    listed = ids.size > 0 && ids.size <= MAX_LISTED_ACCOUNTS ? ids : undefined;
    const pauseMs = Math.min(LISTING_PAUSE_FACTOR * (performance.now() - startedAt), MAX_LISTING_PAUSE_MS);
    listedAt = at;
    listedUntil = at + Math.max(TTL_MS, listed === undefined ? LISTING_RETRY_MS : pauseMs);
  }

  /** Reads the account. Concurrent callers share one read. */
  function read(known: ProbedAccount, { accountId }: ParsedKey, at: Instant): Promise<void> {
    known.reading ??= accounts
      .find(accountId)
      .then((account) => {
        known.account = account;
        known.readAt = at;
      })
      .finally(() => {
        known.reading = undefined;
      });
    return known.reading;
  }

  return {
    ...accounts,

    async admit(key, at, policy = DEFAULT_BAN_POLICY, operation) {
      for (;;) {
        const entry = rejected.size > 0 ? rejected.get(key.hash) : undefined;
        if (entry === undefined) return query(key, at, policy, operation);
        // When the store has to decide, only one request queries it. The others wait for it.
        const busy = entry.reporting ?? entry.deciding;
        if (busy !== undefined) {
          await busy.catch(() => {});
          if (!isFresh(entry, at)) return query(key, at, policy, operation);
          continue;
        }
        const cached = rejectFromMemory(entry, at, policy);
        if (cached !== undefined) return cached;
        const decided = query(key, at, policy, operation);
        const settled = () => {
          entry.deciding = undefined;
        };
        entry.deciding = decided.then(settled, settled);
        return decided;
      }
    },

    async findInvalid(key, at, policy = DEFAULT_BAN_POLICY) {
      if (!(await mayExist(key.accountId, at)))
        return { ok: false, code: "invalid_api_key", reason: "unknown_key" };
      const account = probe(key.accountId);
      if (at < account.readAt || at >= account.readAt + TTL_MS) await read(account, key, at);
      return explainInvalid(account, key, at, policy);
    },

    async create(settings) {
      const result = await accounts.create(settings);
      probed.delete(settings.id);
      listed?.add(settings.id);
      if (listing !== undefined) createdMeanwhile.add(settings.id);
      return result;
    },

    async update(id, updater) {
      const result = await accounts.update(id, updater);
      expireAccount(id);
      return result;
    },

    async resetUsage(id) {
      const result = await accounts.resetUsage(id);
      expireAccount(id);
      return result;
    },

    async unban(accountId, keyId) {
      await accounts.unban(accountId, keyId);
      changes++;
      for (const [hash, entry] of rejected) {
        if (entry.rejection.caller.keyId !== keyId) continue;
        forgetUnreported(entry);
        rejected.delete(hash);
      }
    },
  };
}

function isRejection(admission: Admission): admission is Rejection {
  return !admission.ok && admission.code !== "invalid_api_key";
}

/** True within the second, and within the minute in which the rejections count. */
function isFresh(entry: RejectedKey, at: Instant): boolean {
  const { resetsAt } = entry.rejection.quota;
  return at >= entry.at && at < entry.at + TTL_MS && at < resetsAt && isSameMinute(entry, at);
}

/** Rejections during a ban are not counted, so the minute does not matter. */
function isSameMinute({ rejection }: RejectedKey, at: Instant): boolean {
  return rejection.code === "api_key_banned" || at < rejection.rejections.windowStart + MINUTE_MS;
}

function reachesBan({ rejection, counted, unreported, failed }: RejectedKey, policy: BanPolicy): boolean {
  if (rejection.code === "api_key_banned") return false;
  const reported = failed.reduce((sum, { count }) => sum + count, counted);
  return reported + unreported + 1 > policy.maxRejections;
}

/** Returns the rejection of a key that is invalid by the account that was read, otherwise `undefined`. */
function explainInvalid(
  { account }: ProbedAccount,
  key: ParsedKey,
  at: Instant,
  policy: AdmissionPolicy,
): InvalidKey | undefined {
  const { admission } = decideAdmission(account && keyStateOf(account, key), at, policy);
  return !admission.ok && admission.code === "invalid_api_key" ? admission : undefined;
}

function keyStateOf(account: Account, { accountId, hash }: ParsedKey): KeyState | undefined {
  // A store can know a key by its short hash only, if it has lost the rest.
  const key = account.keys.find((known) => shortHash(known.hash) === shortHash(hash));
  return key && { ...account, accountId, key, rejections: account.rejections[key.id] };
}
