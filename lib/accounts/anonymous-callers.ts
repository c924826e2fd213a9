import type { Instant } from "../core/time.ts";
import { PLAN_LIMITS, type PlanLimits } from "../plans/plan-limits.ts";
import {
  hasCapacity,
  increment,
  MINUTE_MS,
  NO_USAGE,
  type Quota,
  tightestQuota,
  type Usage,
  usageAt,
} from "../plans/windows.ts";

/** Limits unauthenticated callers by their network, in this process. See lib/README.md#unauthenticated-callers. */
export interface AnonymousCallers {
  /** Counts a request if it is within the limits. */
  count(address: string, at: Instant): { readonly withinLimit: boolean; readonly quota: Quota };
  /** The quota, without counting. */
  peek(address: string, at: Instant): Quota;
  /** True if the caller has used up its quota. */
  isExhausted(address: string, at: Instant): boolean;
  /** True once in five seconds for each network: then an unknown key of an exhausted caller may cost a store call. */
  mayLookUp(address: string, at: Instant): boolean;
  /** The quota of a caller without a request. */
  unused(at: Instant): Quota;
}

/** The usage of an IPv4 address, or of an IPv6 /48. */
interface Site {
  /** Also of the subnets of a /48 that are not in `subnets`. */
  shared: Usage;
  /** The usage of the first /64 networks of a /48. */
  readonly subnets: Map<number, Usage>;
  /** The minute of the last request. */
  minute: number;
  /** The last instant at which a key of an exhausted caller was looked up. */
  lookedUpAt: Instant;
}

/** The time between two lookups for an exhausted network. */
const LOOKUP_INTERVAL_MS = 5_000;

/** So many /64 networks of a /48 have limits of their own. All others share one. */
const MAX_SUBNETS = 4;

/**
 * Creates the counters, for at most `capacity` sites. One without a request in the current minute makes room for a new
 * one. If there is none, new sites share one counter: no number of callers can make another one's count disappear.
 */
export function createAnonymousCallers({
  capacity = 50_000,
  limits = PLAN_LIMITS.free,
}: {
  readonly capacity?: number;
  readonly limits?: PlanLimits;
} = {}): AnonymousCallers {
  /** In the order of their last minute with a request. */
  const sites = new Map<string, Site>();
  const overflow = createSite();
  /**
   * The sites from the oldest on, in the current minute. It is kept, because a new iterator of a map first passes all
   * entries that have been deleted, and not longer, because a map stays in memory for an iterator that stands still.
   */
  let oldest: MapIterator<[string, Site]> | undefined;
  let lastMinute = 0;
  /** The last instant at which a caller had no request left: without one, no request has to check. */
  let lastExhaustedAt = Number.NEGATIVE_INFINITY;

  function makeRoom(minute: number): boolean {
    if (sites.size < capacity) return true;
    oldest ??= sites.entries();
    const { value } = oldest.next();
    if (value === undefined || value[1].minute === minute) return false;
    return sites.delete(value[0]);
  }

  function recordUse(name: string, minute: number): Site {
    if (minute !== lastMinute) oldest = undefined;
    lastMinute = minute;
    const known = sites.get(name);
    if (known?.minute === minute) return known;
    if (known === undefined && !makeRoom(minute)) return overflow;
    const site = known ?? createSite();
    site.minute = minute;
    sites.delete(name);
    sites.set(name, site);
    return site;
  }

  function peek(address: string, at: Instant): Quota {
    const network = networkOf(address);
    const site = sites.get(network.site) ?? (sites.size < capacity ? undefined : overflow);
    const subnet = site === overflow ? undefined : network.subnet;
    const usage = site === undefined ? NO_USAGE : readUsage(site, subnet);
    return tightestQuota(usageAt(usage, at), limits);
  }

  return {
    count(address, at) {
      const network = networkOf(address);
      const site = recordUse(network.site, minuteOf(at));
      const subnet = site === overflow ? undefined : network.subnet;
      if (subnet !== undefined) claimSubnet(site, subnet, at);
      const usage = usageAt(readUsage(site, subnet), at);
      const withinLimit = hasCapacity(usage, limits);
      const counted = withinLimit ? increment(usage) : usage;
      if (subnet !== undefined && site.subnets.has(subnet)) site.subnets.set(subnet, counted);
      else site.shared = counted;
      const quota = tightestQuota(counted, limits);
      if (quota.remaining === 0) lastExhaustedAt = at;
      return { withinLimit, quota };
    },

    peek,

    isExhausted: (address, at) => at < lastExhaustedAt + MINUTE_MS && peek(address, at).remaining === 0,

    mayLookUp(address, at) {
      const site = sites.get(networkOf(address).site) ?? overflow;
      if (at >= site.lookedUpAt && at < site.lookedUpAt + LOOKUP_INTERVAL_MS) return false;
      site.lookedUpAt = at;
      return true;
    },

    unused: (at) => tightestQuota(usageAt(NO_USAGE, at), limits),
  };
}

function createSite(): Site {
  return { shared: NO_USAGE, subnets: new Map(), minute: 0, lookedUpAt: Number.NEGATIVE_INFINITY };
}

function minuteOf(at: Instant): number {
  return Math.floor(at / MINUTE_MS);
}

/** Gives a subnet its own usage, if the site has room for one more or a subnet without a request in this minute. */
function claimSubnet({ subnets }: Site, subnet: number, at: Instant): void {
  if (subnets.has(subnet)) return;
  if (subnets.size >= MAX_SUBNETS) {
    for (const [known, usage] of subnets) if (usageAt(usage, at).minute.count === 0) subnets.delete(known);
  }
  if (subnets.size < MAX_SUBNETS) subnets.set(subnet, NO_USAGE);
}

function readUsage({ subnets, shared }: Site, subnet: number | undefined): Usage {
  if (subnet === undefined) return shared;
  return subnets.get(subnet) ?? (subnets.size < MAX_SUBNETS ? NO_USAGE : shared);
}

/** The network that a caller counts for: an IPv4 address, or an IPv6 /48 (`site`) and its /64 (`subnet`). */
interface Network {
  readonly site: string;
  readonly subnet?: number;
}

/**
 * Reads an address as a socket or a proxy reports it. The same address is the same network in every notation: with a
 * port, a zone, zero-padded, or IPv4 mapped to IPv6. All that is not an address is one network.
 */
export function networkOf(address: string): Network {
  const text = address.trim().toLowerCase();
  const bracketed = /^\[([^\]]*)\](?::\d*)?$/.exec(text)?.[1];
  const host = (bracketed ?? text).replace(/%.*$/, "");
  const groups = parseIpv6(host);
  if (groups === undefined) return { site: parseIpv4(host.replace(/:\d*$/, ""))?.join(".") ?? NO_ADDRESS };
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    const bytes = groups.slice(6).flatMap((group) => [group >> 8, group & 0xff]);
    return { site: bytes.join(".") };
  }
  const [first = 0, second = 0, third = 0, subnet = 0] = groups;
  return { site: `${[first, second, third].map((group) => group.toString(16)).join(":")}::/48`, subnet };
}

/** One name for all, so that no part of a header that a caller wrote stays in memory. */
const NO_ADDRESS = "none";

function parseIpv4(text: string): number[] | undefined {
  if (!/^\d{1,3}(?:\.\d{1,3}){3}$/.test(text)) return undefined;
  const bytes = text.split(".").map(Number);
  return bytes.every((byte) => byte <= 255) ? bytes : undefined;
}

/** The eight groups of an IPv6 address, whose last two can be written as IPv4. */
function parseIpv6(text: string): number[] | undefined {
  const [head = "", tail, ...rest] = text.split("::");
  if (!text.includes(":") || rest.length > 0) return undefined;
  const [left, right] = [parseGroups(head), parseGroups(tail ?? "")];
  if (left === undefined || right === undefined) return undefined;
  const zeros = 8 - left.length - right.length;
  if (tail === undefined ? zeros !== 0 : zeros < 0) return undefined;
  return [...left, ...new Array<number>(zeros).fill(0), ...right];
}

function parseGroups(text: string): number[] | undefined {
  if (text === "") return [];
  const groups: number[] = [];
  for (const part of text.split(":")) {
    const ipv4 = parseIpv4(part);
    if (ipv4 !== undefined) {
      const [a = 0, b = 0, c = 0, d = 0] = ipv4;
      groups.push(a * 256 + b, c * 256 + d);
    } else if (/^[0-9a-f]{1,4}$/.test(part)) groups.push(Number.parseInt(part, 16));
    else return undefined;
  }
  return groups;
}
