import type { Instant } from "../clock.ts";
import { MINUTE_MS, secondsUntil } from "../plans/windows.ts";
import type { AccountStore, AdmittedWork } from "./account-store.ts";
import {
  type Admission,
  type AdmissionPolicy,
  type BanPolicy,
  DEFAULT_BAN_POLICY,
  type Rejection,
} from "./admission.ts";
import { type ParsedKey, randomBase62 } from "./api-key.ts";
import { withInvalidKeyCache } from "./invalid-key-cache.ts";

/** How long a rejection is served from memory. */
const TTL_MS = 1_000;

/** The number of keys whose rejections are cached. For any further key, the store is queried each time. */
const MAX_ENTRIES = 10_000;

/** A rejection by the store, and the requests that were rejected from memory since. */
interface Entry {
  rejection: Rejection;
  /** When the store rejected the key. `-Infinity` once something changed since. */
  at: Instant;
  /** The highest count of the minute that the store has returned. Its responses can arrive out of order. */
  counted: number;
  /** Requests rejected from memory that have not been reported to the store. */
  unreported: number;
  /** Reports that failed. The store may have counted them, so they are repeated with the same token. */
  readonly failed: Report[];
}

interface Report {
  readonly count: number;
  readonly token: string;
}

/**
 * Caches rejections for one second, so that a flood of rejected requests costs next to nothing. A request is never
 * admitted from memory. Rejections served from memory are counted: the next store call reports them first, and one
 * that would reach the ban is passed on at once. Floods of invalid keys are limited too; see `withInvalidKeyCache`. An
 * unban or a better plan takes effect at once if it is applied through this store, and within a second otherwise. See
 * lib/README.md#admission.
 */
export function withRejectionCache(store: AccountStore): AccountStore {
  const accounts = withInvalidKeyCache(store);
  const entries = new Map<string, Entry>();
  /** Changes by operators so far. */
  let changes = 0;
  /** Store calls that refresh an entry, by key hash. */
  const inFlight = new Map<string, Promise<unknown>>();

  /** Inserts as most recent and evicts expired entries. */
  function remember(hash: string, rejection: Rejection, at: Instant): void {
    const { windowStart, count } = rejection.rejections;
    const entry = entries.get(hash) ?? { rejection, at, counted: 0, unreported: 0, failed: [] };
    const isSameWindow = entry.rejection.rejections.windowStart === windowStart;
    entry.counted = isSameWindow ? Math.max(entry.counted, count) : count;
    entry.rejection = rejection;
    entry.at = at;
    entries.delete(hash);
    for (const [oldest, candidate] of entries) {
      if (entries.size < MAX_ENTRIES || isFresh(candidate, at)) break;
      entries.delete(oldest);
    }
    if (entries.size < MAX_ENTRIES) entries.set(hash, entry);
  }

  function rejectFromMemory(hash: string, at: Instant, policy: BanPolicy): Rejection | undefined {
    const entry = entries.get(hash);
    if (entry === undefined || !isFresh(entry, at) || reachesBan(entry, policy)) return undefined;
    const { rejection } = entry;
    if (rejection.code === "rate_limit_exceeded") entry.unreported += 1;
    const retryAfterSeconds = secondsUntil(rejection.quota.resetsAt, at);
    return { ...rejection, startsBan: false, retryAfterSeconds };
  }

  /** Reports the rejections that were served from memory. If that fails, they stay to be reported. */
  async function report(key: ParsedKey, at: Instant, policy: BanPolicy): Promise<void> {
    const entry = entries.get(key.hash);
    if (entry === undefined) return;
    const reports = entry.failed.splice(0);
    if (entry.unreported > 0) reports.push({ count: entry.unreported, token: randomBase62(6) });
    entry.unreported = 0;
    // Rejections of an earlier minute no longer count.
    if (!isSameMinute(entry, at)) return;
    for (const [index, { count, token }] of reports.entries()) {
      try {
        await accounts.recordRejections(key, count, at, policy, token);
      } catch (error) {
        entry.failed.push(...reports.slice(index));
        entry.at = Number.NEGATIVE_INFINITY;
        throw error;
      }
    }
  }

  async function query(
    key: ParsedKey,
    at: Instant,
    policy: AdmissionPolicy,
    work?: AdmittedWork,
  ): Promise<Admission> {
    await report(key, at, policy);
    const changesBefore = changes;
    const admission = await accounts.admit(key, at, policy, work);
    // A rejection that was decided before a change must not outlast it.
    const decidedAt = changes === changesBefore ? at : Number.NEGATIVE_INFINITY;
    if (isRejection(admission)) remember(key.hash, admission, decidedAt);
    else entries.delete(key.hash);
    return admission;
  }

  /** Makes the store decide the next request of each key of an account. Unreported rejections are kept. */
  function expireEntries(accountId: string): void {
    changes++;
    for (const entry of entries.values()) {
      if (entry.rejection.caller.accountId === accountId) entry.at = Number.NEGATIVE_INFINITY;
    }
  }

  return {
    ...accounts,

    async admit(key, at, policy = DEFAULT_BAN_POLICY, work) {
      const { hash } = key;
      const cached = rejectFromMemory(hash, at, policy);
      if (cached !== undefined) return cached;
      if (!entries.has(hash)) return query(key, at, policy, work);

      // When an entry expires under load, only one request queries the store. The others wait for it.
      const refresh = inFlight.get(hash);
      if (refresh !== undefined) {
        await refresh;
        return rejectFromMemory(hash, at, policy) ?? query(key, at, policy, work);
      }
      const queried = query(key, at, policy, work);
      const settled = queried.catch(() => {}).finally(() => inFlight.delete(hash));
      inFlight.set(hash, settled);
      return queried;
    },

    async update(id, updater) {
      const result = await accounts.update(id, updater);
      expireEntries(id);
      return result;
    },

    async resetUsage(id) {
      const result = await accounts.resetUsage(id);
      expireEntries(id);
      return result;
    },

    async unban(accountId, keyId) {
      await accounts.unban(accountId, keyId);
      changes++;
      for (const [hash, { rejection }] of entries) {
        if (rejection.caller.keyId === keyId) entries.delete(hash);
      }
    },
  };
}

function isRejection(admission: Admission): admission is Rejection {
  return !admission.ok && admission.code !== "invalid_api_key";
}

/** True within the second, and within the minute in which the rejections count. */
function isFresh(entry: Entry, at: Instant): boolean {
  const { resetsAt } = entry.rejection.quota;
  return at >= entry.at && at < entry.at + TTL_MS && at < resetsAt && isSameMinute(entry, at);
}

/** Rejections during a ban are not counted, so the minute does not matter. */
function isSameMinute({ rejection }: Entry, at: Instant): boolean {
  return rejection.code === "api_key_banned" || at < rejection.rejections.windowStart + MINUTE_MS;
}

function reachesBan({ rejection, counted, unreported, failed }: Entry, policy: BanPolicy): boolean {
  if (rejection.code === "api_key_banned") return false;
  const reported = failed.reduce((sum, { count }) => sum + count, counted);
  return reported + unreported + 1 > policy.maxRejections;
}
