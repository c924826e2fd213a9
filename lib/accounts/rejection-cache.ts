import { mapBounded, settleWithin } from "../core/concurrency.ts";
import { type Instant, MAX_STORE_CALL_MS } from "../core/time.ts";
import type { StoreOperation } from "../orders/store-operation.ts";
import { MINUTE_MS, secondsUntil } from "../plans/windows.ts";
import type { AccountStore } from "./account-store.ts";
import {
  type Admission,
  type AdmissionPolicy,
  type BanPolicy,
  DEFAULT_BAN_POLICY,
  isInGrace,
  type Rejection,
} from "./admission.ts";
import type { ParsedKey } from "./api-key.ts";

/*
 * What a request passes until somebody decides about it. Only the store admits.
 *
 *   request ──> rejection cache ───────────────────────────────> store
 *               by key, for 1 s                                  decides, counts, bans
 *               "rejected a moment ago":                         ^
 *               429 from memory, counted                         │
 *                  └── unreported rejections ── recordRejections(count)
 *
 * They are reported before the store decides about the key again, when they are a fifth of the ban's threshold or could
 * complete it, and a second after the first of them. If that fails, they are dropped: the store may have counted them, and
 * a ban must never come early. They do not travel with `admit`, because there may be none within the second.
 */

const TTL_MS = 1_000;

/** The number of keys whose rejections are cached. For any further key, the store is queried each time. */
const MAX_KEYS = 10_000;

/** The time for which a rejection stays unreported. With the call itself, that is within a second. */
const REPORT_AFTER_MS = 900;

const MAX_PARALLEL_REPORTS = 16;

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
  /** The report under way. Until the report ends, no further request is rejected from memory. */
  reporting?: Promise<void> | undefined;
  /** The store call that decides again. Other requests of the key wait for it. */
  deciding?: Promise<unknown> | undefined;
}

/**
 * Caches rejections for one second. A request is never admitted from memory. A process bans exactly, and each further
 * one adds at most a fifth of the threshold. A change through this store takes effect at once, others within a second.
 */
export function withRejectionCache(accounts: AccountStore): AccountStore {
  const rejected = new Map<string, RejectedKey>();
  /** The keys with rejections to report. One timer serves all of them, and only while there are any. */
  const unreported = new Set<RejectedKey>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let changes = 0;

  /** Saves a rejection by the store. Responses can arrive out of order. */
  function remember(key: ParsedKey, rejection: Rejection, at: Instant, policy: BanPolicy): void {
    const { hash } = key;
    const known = rejected.get(hash);
    const { windowStart, count } = rejection.rejections;
    const knownStart = known?.rejection.rejections.windowStart ?? windowStart;
    const isBan = rejection.code === "api_key_banned";
    if (!isBan && windowStart < knownStart) return;
    const entry = known ?? { key, rejection, at, counted: 0, unreported: 0, lastRejectedAt: at, policy };
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
    if (!isFresh(entry, at)) return undefined;
    if (rejection.code !== "api_key_banned" && !isInGrace(rejection.rejections, at)) {
      // At most a fifth of the ban's threshold is unreported, and none that could complete it.
      if (entry.unreported >= Math.ceil(policy.maxRejections / 5)) return undefined;
      if (entry.counted + entry.unreported + 1 > policy.maxRejections) return undefined;
      entry.unreported += 1;
      entry.lastRejectedAt = at;
      entry.policy = policy;
      unreported.add(entry);
      if (timer === undefined) timer = startTimer();
    }
    const retryAfterSeconds = secondsUntil(rejection.quota.resetsAt, at);
    return { ...rejection, startsBan: false, retryAfterSeconds };
  }

  /** Reports the rejections that were served from memory. If that fails, they are dropped, and the store decides again. */
  function report(entry: RejectedKey): Promise<void> {
    entry.reporting ??= sendReport(entry).finally(() => {
      entry.reporting = undefined;
    });
    return entry.reporting;
  }

  async function sendReport(entry: RejectedKey): Promise<void> {
    const { key, policy, unreported: count } = entry;
    // The store may have counted in a minute that a clock ahead of this one has opened.
    const at = Math.max(entry.lastRejectedAt, entry.rejection.rejections.windowStart);
    forgetUnreported(entry);
    try {
      await settleWithin(MAX_STORE_CALL_MS, accounts.recordRejections(key, count, at, policy));
      entry.counted += count;
    } catch (error) {
      entry.at = -Infinity;
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
    await mapBounded([...unreported], MAX_PARALLEL_REPORTS, async (entry) => {
      // A request of the key can have reported them while others were.
      if (unreported.has(entry)) await report(entry).catch(() => {});
    });
    timer = unreported.size > 0 ? startTimer() : undefined;
  }

  function forgetUnreported(entry: RejectedKey): void {
    entry.unreported = 0;
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
    const admission = await accounts.admit(key, at, policy, operation);
    if (!admission.ok && admission.code !== "invalid_api_key") {
      // A rejection that was decided before a change must not outlast it.
      remember(key, admission, changes === changesBefore ? at : -Infinity, policy);
    } else if (rejected.size > 0) expire(key.hash);
    return admission;
  }

  /** Makes the store decide the next request of a key. What is not yet reported is kept. */
  function expire(hash: string): void {
    const entry = rejected.get(hash);
    if (entry === undefined) return;
    entry.at = -Infinity;
    if (!unreported.has(entry)) rejected.delete(hash);
  }

  /** Forgets keys with their rejections that are not reported: they belong to nobody any more. */
  function forget(isMeant: (entry: RejectedKey) => boolean): void {
    changes++;
    for (const [hash, entry] of rejected) {
      if (!isMeant(entry)) continue;
      forgetUnreported(entry);
      rejected.delete(hash);
    }
  }

  /** Waits for a change by an operator, after which nothing that was decided about the account counts. */
  async function changeAccount<T>(accountId: string, change: Promise<T>): Promise<T> {
    const result = await change;
    changes++;
    for (const [hash, { key }] of rejected) if (key.accountId === accountId) expire(hash);
    return result;
  }

  return {
    isLocal: accounts.isLocal,
    performsOn: accounts.performsOn,
    importedKeys: accounts.importedKeys,
    findEnvironment: () => accounts.findEnvironment(),
    recordEnvironment: (environment) => accounts.recordEnvironment(environment),
    find: (id) => accounts.find(id),
    list: (after, limit) => accounts.list(after, limit),
    recordRejections: (key, count, at, policy) => accounts.recordRejections(key, count, at, policy),

    async admit(key, at, policy = DEFAULT_BAN_POLICY, operation) {
      for (;;) {
        const entry = rejected.size > 0 ? rejected.get(key.hash) : undefined;
        // Where rejections are only reported, one from memory would admit the request, and none waits for another.
        if (entry === undefined || policy.maxRejections === Infinity)
          return query(key, at, policy, operation);
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

    create: (settings) => accounts.create(settings),
    update: async (id, updater) => changeAccount(id, accounts.update(id, updater)),
    resetUsage: async (id) => changeAccount(id, accounts.resetUsage(id)),

    async delete(id) {
      const result = await accounts.delete(id);
      forget(({ key }) => key.accountId === id);
      return result;
    },

    async unban(accountId, keyId) {
      await accounts.unban(accountId, keyId);
      forget(({ rejection }) => rejection.caller.keyId === keyId);
    },
  } satisfies Required<AccountStore>;
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
