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

interface Counter {
  usage: Usage;
  minute: number;
}

/**
 * Counters for at most `capacity` networks. One without a request in the current minute makes room for a new one; if
 * each has one, new networks share a counter. See lib/README.md#unauthenticated-callers.
 */
export function createAnonymousCallers({
  capacity = 50_000,
  limits = PLAN_LIMITS.free,
}: {
  readonly capacity?: number;
  readonly limits?: PlanLimits;
} = {}) {
  /** In the order of their last minute with a request. */
  const counters = new Map<string, Counter>();
  const overflow = createCounter();
  /** The counters from the oldest on: a new iterator of a map would first pass all deleted entries. */
  let oldest: MapIterator<[string, Counter]> | undefined;
  let lastMinute = 0;

  function makeRoom(minute: number): boolean {
    if (counters.size < capacity) return true;
    oldest ??= counters.entries();
    const { value } = oldest.next();
    if (value === undefined || value[1].minute === minute) return false;
    return counters.delete(value[0]);
  }

  function useCounter(name: string, minute: number): Counter {
    if (minute !== lastMinute) oldest = undefined;
    lastMinute = minute;
    const known = counters.get(name);
    if (known?.minute === minute) return known;
    if (known === undefined && !makeRoom(minute)) return overflow;
    const counter = known ?? createCounter();
    counter.minute = minute;
    counters.delete(name);
    counters.set(name, counter);
    return counter;
  }

  return {
    /** Counts a request if it is within the limits. */
    count(address: string, at: Instant): { readonly withinLimit: boolean; readonly quota: Quota } {
      const counter = useCounter(networkOf(address).site, Math.floor(at / MINUTE_MS));
      const check = checkLimits(limits, counter.usage, at);
      if (check.ok) counter.usage = check.usage;
      const { limit, remaining, resetsAt } = check;
      return { withinLimit: check.ok, quota: { limit, remaining, resetsAt } };
    },

    peek(address: string, at: Instant): Quota {
      // Nothing is counted in `overflow` before there is no room.
      const { usage } = counters.get(networkOf(address).site) ?? overflow;
      return tightestQuota(usageAt(usage, at), limits);
    },

    unused: (at: Instant): Quota => tightestQuota(usageAt(NO_USAGE, at), limits),
  };
}

const createCounter = (): Counter => ({ usage: NO_USAGE, minute: 0 });

/**
 * The network of a caller: an IPv4 address, or an IPv6 /48 (`site`) whose /64 is the `subnet`. With a port, a zone,
 * zero-padded, or IPv4 mapped or translated to IPv6 (RFC 6052, 2.1). All that is not an address is one.
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
