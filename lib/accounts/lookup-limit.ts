import { settleWithin } from "../core/concurrency.ts";
import { type Instant, MAX_STORE_CALL_MS } from "../core/time.ts";
import { networkOf } from "./anonymous-callers.ts";

/** The most look-ups in a second for an address: an IPv4 address, or an IPv6 /64. */
const MAX_LOOKUPS_PER_ADDRESS = 20;

/** The most look-ups in a second for an account, and for an IPv6 /48. */
const MAX_LOOKUPS_PER_GROUP = 100;

export const LOOKUP_PAUSE_SECONDS = 1;

/** Names in each of two generations: those that were refused within the last seconds also of a flood. */
const MAX_REFUSED_NAMES = 20_000;

/** Who asks for a look-up, and the account that the name belongs to if this is known. */
export interface LookupCaller {
  readonly address?: string;
  readonly accountId?: string;
}

interface Share {
  taken: number;
  isCrowded: boolean;
}

/**
 * Limits the look-ups of keys or hosts that a process does not know. In the second after somebody was refused, half of
 * the look-ups are for names that were refused and have waited as told: otherwise a flood would take each place.
 */
export function createLookupLimit() {
  let second = 0;
  let shares = new Map<string, Share>();
  let sharesBefore: ReadonlyMap<string, Share> = shares;
  let refused = new Map<string, Instant>();
  let refusedBefore: ReadonlyMap<string, Instant> = refused;
  const underWay = new Map<string, Promise<unknown>>();

  function startSecond(at: Instant): void {
    const now = Math.floor(at / 1000);
    // A request can have waited since an earlier second. A clock that was set back starts anew.
    if (now <= second && now > second - MAX_STORE_CALL_MS / 1000) return;
    sharesBefore = now === second + 1 ? shares : new Map();
    shares = new Map();
    second = now;
  }

  function refuse(name: string, at: Instant): false {
    if (refused.size >= MAX_REFUSED_NAMES) {
      refusedBefore = refused;
      refused = new Map();
    }
    refused.set(name, at);
    return false;
  }

  function hasWaited(name: string, at: Instant): boolean {
    const refusedAt = refused.get(name) ?? refusedBefore.get(name) ?? Infinity;
    return at - refusedAt >= LOOKUP_PAUSE_SECONDS * 1000;
  }

  return {
    /** Takes a look-up of this name; false if there is none left in this second. */
    take(name: string, caller: LookupCaller, at: Instant): boolean {
      startSecond(at);
      const isPreferred = hasWaited(name, at);
      const groups = groupsOf(caller).map(([group, max]) => {
        const share = shares.get(group) ?? { taken: 0, isCrowded: false };
        shares.set(group, share);
        const isHalved = !isPreferred && sharesBefore.get(group)?.isCrowded === true;
        if (share.taken >= (isHalved ? max / 2 : max)) share.isCrowded = true;
        return { share, isFull: share.taken >= (isHalved ? max / 2 : max) };
      });
      if (groups.some(({ isFull }) => isFull)) return refuse(name, at);
      for (const { share } of groups) share.taken++;
      return true;
    },

    /**
     * Requests of the same name wait for its look-up, and go on if it is known then. Otherwise one of them looks it up
     * again, and the others get `undefined`. Rejects with `StoreUnavailableError` after the time of a store call.
     */
    async share<T>(name: string, isKnown: () => boolean, lookUp: () => Promise<T>): Promise<T | undefined> {
      const first = underWay.get(name);
      if (first !== undefined) await first;
      if (isKnown()) return lookUp();
      if (underWay.has(name)) return undefined;
      const lookup = settleWithin(MAX_STORE_CALL_MS, lookUp()).finally(() => underWay.delete(name));
      underWay.set(name, lookup);
      return lookup;
    },
  };
}

function groupsOf({ address, accountId }: LookupCaller): readonly (readonly [name: string, max: number])[] {
  const { site, subnet = "" } = address === undefined ? {} : networkOf(address);
  const groups: [string, number][] = [];
  if (site !== undefined) groups.push([`${site} ${subnet}`, MAX_LOOKUPS_PER_ADDRESS]);
  if (site !== undefined && subnet !== "") groups.push([site, MAX_LOOKUPS_PER_GROUP]);
  if (accountId !== undefined) groups.push([`account ${accountId}`, MAX_LOOKUPS_PER_GROUP]);
  return groups;
}
