import type { Instant } from "../clock.ts";
import { PLAN_LIMITS } from "../plans/plan-limits.ts";
import {
  hasCapacity,
  increment,
  NO_USAGE,
  type Quota,
  tightestQuota,
  type Usage,
  usageAt,
} from "../plans/windows.ts";

/** Limits callers without a valid key by their network address, in this process alone. */
export interface AnonymousCallers {
  /** Counts a request, and tells whether it fits the limits. */
  count(address: string, at: Instant): { readonly admitted: boolean; readonly quota: Quota };
  /** What is left, without counting. */
  peek(address: string, at: Instant): Quota;
}

/** Remembers up to `capacity` networks, and beyond that forgets the one that was seen first. */
export function createAnonymousCallers({ capacity = 50_000 } = {}): AnonymousCallers {
  const limits = PLAN_LIMITS.free;
  const usages = new Map<string, Usage>();
  const usageOf = (network: string, at: Instant) => usageAt(usages.get(network) ?? NO_USAGE, at);

  return {
    count(address, at) {
      const network = networkOf(address);
      const usage = usageOf(network, at);
      if (!hasCapacity(usage, limits)) return { admitted: false, quota: tightestQuota(usage, limits) };
      const counted = increment(usage);
      usages.set(network, counted);
      if (usages.size > capacity) {
        for (const first of usages.keys()) {
          usages.delete(first);
          break;
        }
      }
      return { admitted: true, quota: tightestQuota(counted, limits) };
    },
    peek: (address, at) => tightestQuota(usageOf(networkOf(address), at), limits),
  };
}

/** One subscriber has a whole IPv6 /64 to call from, so the first four groups stand for the caller. */
function networkOf(address: string): string {
  if (!address.includes(":")) return address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  const [head = "", tail = ""] = address.toLowerCase().split("::");
  const left = head.split(":").filter(Boolean);
  const right = tail.split(":").filter(Boolean);
  const zeros = new Array<string>(Math.max(0, 8 - left.length - right.length)).fill("0");
  return [...left, ...zeros, ...right].slice(0, 4).join(":");
}
