import {
  type DomainEvent,
  type DomainState,
  type TrackedDomain,
  transitionDomain,
} from "../../lib/domains/status/status.ts";

export const NOON = Date.UTC(2026, 10, 20, 12);
export const MINUTE = 60_000;

/** A domain that has just entered a state. */
export function domainIn(state: DomainState): TrackedDomain {
  const domain = { host: "orders.example.com", state, since: NOON };
  if (state === "pending_dns" || state === "removed") return domain;
  return {
    ...domain,
    verifiedAt: NOON,
    ...(state === "needs_attention" ? { attention: "certificate_failed" as const } : {}),
  };
}

/** Applies events in order; each must be allowed. */
export function applyEvents(
  domain: TrackedDomain,
  ...events: readonly [DomainEvent, number][]
): TrackedDomain {
  return events.reduce((current, [event, at]) => {
    const result = transitionDomain(current, event, at);
    if (!result.ok) throw new Error(`${result.state}, ${result.event}: ${result.code}`);
    return result.domain;
  }, domain);
}
