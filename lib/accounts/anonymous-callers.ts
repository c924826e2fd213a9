import type { Instant } from "../core/time.ts";
import { PLAN_LIMITS, type PlanLimits } from "../plans/plan-limits.ts";
import {
  checkLimits,
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
  peek(address: string, at: Instant): Quota;
  unused(at: Instant): Quota;
}

interface Counter {
  usage: Usage;
}

/** An IPv4 address, or an IPv6 /48. */
interface Site {
  /** Also of the subnets of a /48 that are not in `subnets`. */
  readonly shared: Counter;
  /** The first /64 networks of a /48. */
  readonly subnets: Map<string, Counter>;
  minute: number;
}

/** The /64 networks of a /48 that have limits of their own. All others share one. */
const MAX_SUBNETS = 4;

/**
 * Creates the counters, for at most `capacity` sites. One without a request in the current minute makes room for a new
 * one; if each has one, new sites share a counter.
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
  /** The sites from the oldest on: a new iterator of a map would first pass all deleted entries. */
  let oldest: MapIterator<[string, Site]> | undefined;
  let lastMinute = 0;

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
    // Nothing is counted in `overflow` before there is no room.
    const site = sites.get(network.site) ?? overflow;
    return quotaOf(readCounter(site, site === overflow ? undefined : network.subnet, at), at);
  }

  const quotaOf = ({ usage }: Counter, at: Instant) => tightestQuota(usageAt(usage, at), limits);

  function useCounter(address: string, at: Instant): Counter {
    const network = networkOf(address);
    const site = recordUse(network.site, Math.floor(at / MINUTE_MS));
    const subnet = site === overflow ? undefined : network.subnet;
    if (subnet !== undefined) claimSubnet(site, subnet, at);
    return readCounter(site, subnet, at);
  }

  return {
    count(address, at) {
      const counter = useCounter(address, at);
      const check = checkLimits(limits, counter.usage, at);
      if (check.ok) counter.usage = check.usage;
      const { limit, remaining, resetsAt } = check;
      return { withinLimit: check.ok, quota: { limit, remaining, resetsAt } };
    },

    peek,

    unused: (at) => tightestQuota(usageAt(NO_USAGE, at), limits),
  };
}

function createSite(): Site {
  return { shared: { usage: NO_USAGE }, subnets: new Map(), minute: 0 };
}

/**
 * Gives a subnet a counter of its own, if the site has room for one more. Otherwise it takes over that of a subnet without a
 * request in this minute, as it is: a counter from zero for each would leave the site without a limit per day.
 */
function claimSubnet({ subnets }: Site, subnet: string, at: Instant): void {
  if (subnets.has(subnet)) return;
  if (subnets.size < MAX_SUBNETS) return void subnets.set(subnet, { usage: NO_USAGE });
  const idle = findIdle(subnets, at);
  if (idle === undefined) return;
  subnets.delete(idle[0]);
  subnets.set(subnet, idle[1]);
}

const findIdle = (subnets: Site["subnets"], at: Instant) =>
  [...subnets].find(([, { usage }]) => usageAt(usage, at).minute.count === 0);

function readCounter({ subnets, shared }: Site, subnet: string | undefined, at: Instant): Counter {
  if (subnet === undefined) return shared;
  const own = subnets.get(subnet);
  if (own !== undefined || subnets.size < MAX_SUBNETS) return own ?? { usage: NO_USAGE };
  return findIdle(subnets, at)?.[1] ?? shared;
}

/**
 * The network that a caller counts for: an IPv4 address, or an IPv6 /48 (`site`) and its /64 (`subnet`). Reads an address
 * as a socket or a proxy reports it: with a port, a zone, zero-padded, or IPv4 mapped or translated to IPv6 (RFC 6052, 2.1).
 * All that is not an address is one network.
 */
export function networkOf(address: string): { readonly site: string; readonly subnet?: string | undefined } {
  const text = address.trim().toLowerCase();
  const bracketed = /^\[([^\]]*)\](?::\d*)?$/.exec(text)?.[1];
  const host = (bracketed ?? text).replace(/%.*/, "");
  const groups = parseIpv6(host);
  if (groups === undefined) return { site: parseIpv4(host.replace(/:\d*$/, "")) ?? NO_ADDRESS };
  const [subnet, ...rest] = groups.slice(3);
  if (/^(?:0,0,0,0,0,ffff|64,ff9b,0,0,0,0),/.test(`${groups}`)) {
    const halves = rest.slice(-2).map((group) => Number.parseInt(group, 16));
    return { site: halves.flatMap((half) => [half >> 8, half & 255]).join(".") };
  }
  return { site: `${groups.slice(0, 3).join(":")}::/48`, subnet };
}

/** The name of all these callers: no part of a header that a caller wrote stays in memory. */
const NO_ADDRESS = "none";

function parseIpv4(text: string): string | undefined {
  if (!/^\d{1,3}(?:\.\d{1,3}){3}$/.test(text)) return undefined;
  const bytes = text.split(".").map(Number);
  return bytes.every((byte) => byte <= 255) ? bytes.join(".") : undefined;
}

/** The eight groups of an IPv6 address, in their shortest form. */
function parseIpv6(text: string): readonly string[] | undefined {
  const url = /^[0-9a-f.]*:[0-9a-f:.]*$/.test(text) ? URL.parse(`http://[${text}]`) : null;
  if (url === null) return undefined;
  const [left = [], right = []] = url.hostname
    .slice(1, -1)
    .split("::")
    .map((part) => part.split(":").filter(Boolean));
  return [...left, ...new Array<string>(8 - left.length - right.length).fill("0"), ...right];
}
