import type { Instant } from "../clock.ts";
import { MINUTE, secondsUntil } from "../plans/windows.ts";
import type { AccountStore } from "./account-store.ts";
import { type Admission, BAN_POLICY, type BanPolicy } from "./admission.ts";
import type { ParsedKey } from "./api-key.ts";

type Refused = Extract<Admission, { outcome: "refused" }>;

/** A refusal that the store gave, and what was answered from memory since. */
interface Memory {
  readonly refused: Refused;
  /** When the store gave it; long ago where something changed since. */
  at: Instant;
  /** Refusals in the same minute that the store was not told of yet. */
  owed: number;
}

/** How long a refusal is remembered, in milliseconds. */
const SPAN = 1_000;

/** Keys that are remembered at a time; for those beyond, the store is asked each time. */
const MOST_KEYS = 10_000;

/**
 * Remembers refused callers for a second, so that a flood costs next to nothing (design, promise 2). What it answers
 * counts all the same: the next write adds it, and the refusal that crosses the ban's threshold is written at once.
 * A pardon or a better plan holds at once where it is given through this store, and within the second elsewhere; a
 * ban may be told for a second after its end.
 */
export function rememberRefusals(accounts: AccountStore): AccountStore {
  const memories = new Map<string, Memory>();
  /** Of remembered keys those that the store is being asked about. */
  const asking = new Map<string, Promise<unknown>>();

  /** Puts the youngest last; what is over makes room. */
  function remember(hash: string, refused: Refused, at: Instant): void {
    const owed = refused.code === "api_key_banned" ? 0 : (memories.get(hash)?.owed ?? 0);
    memories.delete(hash);
    for (const [eldest, memory] of memories) {
      if (memories.size < MOST_KEYS || isFresh(memory, at)) break;
      memories.delete(eldest);
    }
    if (memories.size < MOST_KEYS) memories.set(hash, { refused, at, owed });
  }

  /** What the store has to be told with the next write; of another minute there is nothing to tell any more. */
  function takeOwed(hash: string, at: Instant): number {
    const memory = memories.get(hash);
    if (memory === undefined) return 0;
    const { owed } = memory;
    memory.owed = 0;
    return isSameMinute(memory, at) ? owed : 0;
  }

  /** What the store did not write is still owed, and no more is answered before it was asked. */
  function giveBack(hash: string, owed: number): void {
    const memory = memories.get(hash);
    if (memory === undefined) return;
    memory.owed += owed;
    memory.at = Number.NEGATIVE_INFINITY;
  }

  function fromMemory(hash: string, at: Instant, policy: BanPolicy, refusals: number): Refused | undefined {
    const memory = memories.get(hash);
    if (memory === undefined || !isFresh(memory, at) || crosses(memory, policy, refusals)) return undefined;
    if (memory.refused.code === "rate_limit_exceeded") memory.owed += refusals;
    const { write: _written, ...refused } = memory.refused;
    return { ...refused, retryAfter: secondsUntil(refused.quota.resetsAt, at) };
  }

  async function ask(key: ParsedKey, at: Instant, policy: BanPolicy, refusals: number): Promise<Admission> {
    const owed = takeOwed(key.hash, at);
    try {
      const decided = await accounts.admit(key, at, policy, refusals + owed);
      if (decided.outcome === "refused") remember(key.hash, decided, at);
      else giveBack(key.hash, owed);
      return decided;
    } catch (error) {
      giveBack(key.hash, owed);
      throw error;
    }
  }

  return {
    ...accounts,

    async admit(key, at, policy = BAN_POLICY, refusals = 1) {
      const { hash } = key;
      const remembered = fromMemory(hash, at, policy, refusals);
      if (remembered !== undefined) return remembered;
      if (!memories.has(hash)) return ask(key, at, policy, refusals);

      // A flood comes all at once, also in the moment in which its refusal has grown old: the first asks for all.
      const underWay = asking.get(hash);
      if (underWay !== undefined) {
        await underWay;
        return fromMemory(hash, at, policy, refusals) ?? ask(key, at, policy, refusals);
      }
      const asked = ask(key, at, policy, refusals);
      const settled = asked.catch(() => {}).finally(() => asking.delete(hash));
      asking.set(hash, settled);
      return asked;
    },

    async change(id, decide) {
      const changed = await accounts.change(id, decide);
      for (const [hash, { refused }] of memories) if (refused.caller.accountId === id) giveBack(hash, 0);
      return changed;
    },

    async pardon(accountId, keyId) {
      await accounts.pardon(accountId, keyId);
      for (const [hash, { refused }] of memories) if (refused.caller.keyId === keyId) memories.delete(hash);
    },
  };
}

/** True within the second, and within the minute in which its refusals count. */
function isFresh(memory: Memory, at: Instant): boolean {
  return (
    at >= memory.at && at < memory.at + SPAN && at < memory.refused.quota.resetsAt && isSameMinute(memory, at)
  );
}

/** A ban counts nothing, so no minute is another one to it. A window never goes back, so an earlier one is none. */
function isSameMinute({ refused }: Memory, at: Instant): boolean {
  return refused.write === undefined || at < refused.write.start + MINUTE;
}

function crosses({ refused, owed }: Memory, policy: BanPolicy, refusals: number): boolean {
  const { code, write } = refused;
  return code === "rate_limit_exceeded" && (write?.refused ?? 0) + owed + refusals > policy.refusals;
}
