import type { Instant } from "../clock.ts";
import { MINUTE_MS, secondsUntil } from "../plans/windows.ts";
import type { AccountStore } from "./account-store.ts";
import { type Admission, type BanPolicy, DEFAULT_BAN_POLICY } from "./admission.ts";
import type { ParsedKey } from "./api-key.ts";

type Refused = Extract<Admission, { outcome: "refused" }>;

/** A refusal that the store gave, and what was answered from memory since. */
interface CachedRejection {
  readonly refused: Refused;
  /** When the store gave it; long ago where something changed since. */
  at: Instant;
  /** Refusals in the same minute that the store was not told of yet. */
  unreported: number;
}

/** How long a refusal is remembered, in milliseconds. */
const TTL_MS = 1_000;

/** Keys that are remembered at a time; for those beyond, the store is asked each time. */
const MAX_ENTRIES = 10_000;

/**
 * Remembers refused callers for a second, so that a flood costs next to nothing (design, promise 2). What it answers
 * counts all the same: the next write adds it, and the refusal that crosses the ban's threshold is written at once.
 * A pardon or a better plan holds at once where it is given through this store, and within the second elsewhere; a
 * ban may be told for a second after its end.
 */
export function withRejectionCache(accounts: AccountStore): AccountStore {
  const entries = new Map<string, CachedRejection>();
  /** Of remembered keys those that the store is being asked about. */
  const inFlight = new Map<string, Promise<unknown>>();

  /** Puts the youngest last; what is over makes room. */
  function remember(hash: string, refused: Refused, at: Instant): void {
    const unreported = refused.code === "api_key_banned" ? 0 : (entries.get(hash)?.unreported ?? 0);
    entries.delete(hash);
    for (const [eldest, memory] of entries) {
      if (entries.size < MAX_ENTRIES || isFresh(memory, at)) break;
      entries.delete(eldest);
    }
    if (entries.size < MAX_ENTRIES) entries.set(hash, { refused, at, unreported });
  }

  /** What the store has to be told with the next write; of another minute there is nothing to tell any more. */
  function takeUnreported(hash: string, at: Instant): number {
    const memory = entries.get(hash);
    if (memory === undefined) return 0;
    const { unreported } = memory;
    memory.unreported = 0;
    return isSameMinute(memory, at) ? unreported : 0;
  }

  /** What the store did not write is still owed, and no more is answered before it was asked. */
  function restore(hash: string, unreported: number): void {
    const memory = entries.get(hash);
    if (memory === undefined) return;
    memory.unreported += unreported;
    memory.at = Number.NEGATIVE_INFINITY;
  }

  function fromMemory(hash: string, at: Instant, policy: BanPolicy, refusals: number): Refused | undefined {
    const memory = entries.get(hash);
    if (memory === undefined || !isFresh(memory, at) || reachesBan(memory, policy, refusals))
      return undefined;
    if (memory.refused.code === "rate_limit_exceeded") memory.unreported += refusals;
    const { write: _written, ...refused } = memory.refused;
    return { ...refused, retryAfter: secondsUntil(refused.quota.resetsAt, at) };
  }

  async function ask(key: ParsedKey, at: Instant, policy: BanPolicy, refusals: number): Promise<Admission> {
    const unreported = takeUnreported(key.hash, at);
    try {
      const decided = await accounts.admit(key, at, policy, refusals + unreported);
      if (decided.outcome === "refused") remember(key.hash, decided, at);
      else restore(key.hash, unreported);
      return decided;
    } catch (error) {
      restore(key.hash, unreported);
      throw error;
    }
  }

  return {
    ...accounts,

    async admit(key, at, policy = DEFAULT_BAN_POLICY, refusals = 1) {
      const { hash } = key;
      const remembered = fromMemory(hash, at, policy, refusals);
      if (remembered !== undefined) return remembered;
      if (!entries.has(hash)) return ask(key, at, policy, refusals);

      // A flood comes all at once, also in the moment in which its refusal has grown old: the first asks for all.
      const underWay = inFlight.get(hash);
      if (underWay !== undefined) {
        await underWay;
        return fromMemory(hash, at, policy, refusals) ?? ask(key, at, policy, refusals);
      }
      const asked = ask(key, at, policy, refusals);
      const settled = asked.catch(() => {}).finally(() => inFlight.delete(hash));
      inFlight.set(hash, settled);
      return asked;
    },

    async update(id, decide) {
      const changed = await accounts.update(id, decide);
      for (const [hash, { refused }] of entries) if (refused.caller.accountId === id) restore(hash, 0);
      return changed;
    },

    async unban(accountId, keyId) {
      await accounts.unban(accountId, keyId);
      for (const [hash, { refused }] of entries) if (refused.caller.keyId === keyId) entries.delete(hash);
    },
  };
}

/** True within the second, and within the minute in which its refusals count. */
function isFresh(memory: CachedRejection, at: Instant): boolean {
  return (
    at >= memory.at &&
    at < memory.at + TTL_MS &&
    at < memory.refused.quota.resetsAt &&
    isSameMinute(memory, at)
  );
}

/** A ban counts nothing, so no minute is another one to it. A window never goes back, so an earlier one is none. */
function isSameMinute({ refused }: CachedRejection, at: Instant): boolean {
  return refused.write === undefined || at < refused.write.windowStart + MINUTE_MS;
}

function reachesBan({ refused, unreported }: CachedRejection, policy: BanPolicy, refusals: number): boolean {
  const { code, write } = refused;
  return code === "rate_limit_exceeded" && (write?.count ?? 0) + unreported + refusals > policy.maxRejections;
}
