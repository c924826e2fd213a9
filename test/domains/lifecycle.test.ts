import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  ATTENTION_REASONS,
  addDomain,
  DOMAIN_EVENTS,
  DOMAIN_LIFECYCLE,
  DOMAIN_STATES,
  type DomainEvent,
  type DomainState,
  transitionDomain,
} from "../../lib/domains/status/status.ts";
import { adviceFor, PROPAGATION } from "../../lib/domains/status/steps.ts";
import { applyEvents, domainIn, MINUTE, NOON } from "./lifecycle-fixture.ts";

/** What every event does in every state, written a second time to detect a mistake in the table. */
const EXPECTED: Record<DomainState, Record<DomainEvent, string>> = {
  pending_dns: {
    dns_verified: "verified",
    dns_failed: "pending_dns",
    dns_unknown: "pending_dns",
    certificate_forbidden: "needs_attention",
    certificate_requested: "error: not_verified",
    certificate_issued: "error: not_verified",
    certificate_failed: "error: not_verified",
    reverify: "error: nothing_to_reverify",
    remove: "removed",
  },
  verified: {
    dns_verified: "verified",
    dns_failed: "pending_dns",
    dns_unknown: "verified",
    certificate_forbidden: "needs_attention",
    certificate_requested: "certificate_pending",
    certificate_issued: "error: certificate_not_requested",
    certificate_failed: "error: certificate_not_requested",
    reverify: "error: nothing_to_reverify",
    remove: "removed",
  },
  certificate_pending: {
    dns_verified: "certificate_pending",
    dns_failed: "pending_dns",
    dns_unknown: "certificate_pending",
    certificate_forbidden: "needs_attention",
    certificate_requested: "certificate_pending",
    certificate_issued: "live",
    certificate_failed: "needs_attention",
    reverify: "error: nothing_to_reverify",
    remove: "removed",
  },
  live: {
    dns_verified: "live",
    dns_failed: "needs_attention",
    dns_unknown: "live",
    certificate_forbidden: "live",
    certificate_requested: "live",
    certificate_issued: "live",
    certificate_failed: "needs_attention",
    reverify: "error: nothing_to_reverify",
    remove: "removed",
  },
  needs_attention: {
    dns_verified: "needs_attention",
    dns_failed: "needs_attention",
    dns_unknown: "needs_attention",
    certificate_forbidden: "needs_attention",
    certificate_requested: "error: reverify_first",
    certificate_issued: "live",
    certificate_failed: "needs_attention",
    reverify: "pending_dns",
    remove: "removed",
  },
  removed: {
    dns_verified: "error: domain_removed",
    dns_failed: "error: domain_removed",
    dns_unknown: "error: domain_removed",
    certificate_forbidden: "error: domain_removed",
    certificate_requested: "error: domain_removed",
    certificate_issued: "error: domain_removed",
    certificate_failed: "error: domain_removed",
    reverify: "error: domain_removed",
    remove: "removed",
  },
};

const cells = DOMAIN_STATES.flatMap((state) => DOMAIN_EVENTS.map((event) => [state, event] as const));

describe("the lifecycle of a custom domain", () => {
  test.each(cells)("in state %s, event %s has the result of the table", (state, event) => {
    const result = transitionDomain(domainIn(state), event, NOON + MINUTE);
    const outcome = result.ok ? result.domain.state : `error: ${result.code}`;
    expect(outcome).toBe(EXPECTED[state][event]);
    if (result.ok) {
      expect(result.domain.since).toBe(result.domain.state === state ? NOON : NOON + MINUTE);
      expect(result.domain.attention !== undefined).toBe(result.domain.state === "needs_attention");
    } else {
      expect(result).toMatchObject({ state, event });
    }
  });

  test("a new domain goes from pending_dns through verified and certificate_pending to live", () => {
    const domain = applyEvents(
      addDomain("orders.example.com", NOON),
      ["dns_failed", NOON + 1],
      ["dns_verified", NOON + 2],
      ["certificate_requested", NOON + 3],
      ["certificate_issued", NOON + 4],
    );
    expect(domain).toEqual({
      host: "orders.example.com",
      state: "live",
      since: NOON + 4,
      verifiedAt: NOON + 2,
    });
  });

  test.each(DOMAIN_STATES)("a domain in state %s can be removed", (state) => {
    expect(applyEvents(domainIn(state), ["remove", NOON])).toMatchObject({ state: "removed" });
  });

  test("a removed domain never leaves that state", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...DOMAIN_EVENTS)), (events) => {
        const last = events.reduce((domain, event, index) => {
          const result = transitionDomain(domain, event, NOON + index);
          return result.ok ? result.domain : domain;
        }, domainIn("removed"));
        expect(last.state).toBe("removed");
      }),
    );
  });

  test("only certificate_issued makes a domain live", () => {
    for (const [state, event] of cells) {
      const rule = DOMAIN_LIFECYCLE[state][event];
      if ("to" in rule && rule.to === "live" && state !== "live") expect(event).toBe("certificate_issued");
    }
  });
});

test("a domain whose CAA records forbid the certificate needs attention, unless it is live", () => {
  const forbidden = applyEvents(domainIn("verified"), ["certificate_forbidden", NOON + MINUTE]);
  expect(forbidden).toMatchObject({ state: "needs_attention", attention: "certificate_forbidden" });
  expect(adviceFor(forbidden)[0]).toMatch(/^Change the CAA records that forbid the certificate/);
  expect(applyEvents(domainIn("live"), ["certificate_forbidden", NOON + MINUTE])).toEqual(domainIn("live"));
});

test("a domain that returns to pending_dns loses the time of its verification", () => {
  const pending = { host: "orders.example.com", state: "pending_dns", since: NOON + 1 };
  expect(applyEvents(domainIn("verified"), ["dns_failed", NOON + 1])).toEqual({
    ...pending,
    attemptSince: NOON,
  });
  expect(applyEvents(domainIn("needs_attention"), ["reverify", NOON + 1])).toEqual(pending);
});

test.each(["toString", "constructor", "__proto__", "shipped"])("%s is no event", (event) => {
  expect(() => transitionDomain(domainIn("live"), event as DomainEvent, NOON)).toThrow(
    /^event: Use one of: dns_verified, /,
  );
});

test.each(["toString", "constructor", "__proto__", "shipped"])("%s is no state", (state) => {
  expect(() => transitionDomain(domainIn(state as DomainState), "dns_verified", NOON)).toThrow(
    /^state: Use one of: pending_dns, /,
  );
});

test("a failed DNS lookup leaves a live domain live", () => {
  expect(applyEvents(domainIn("live"), ["dns_unknown", NOON + MINUTE])).toEqual(domainIn("live"));
});

test("a live domain whose record was changed needs attention because of DNS", () => {
  const broken = applyEvents(domainIn("live"), ["dns_failed", NOON + MINUTE]);
  expect(broken).toMatchObject({ state: "needs_attention", attention: "dns_broken" });
  expect(adviceFor(broken).join(" ")).toContain(PROPAGATION);
});

test("the advice for a domain that waits for DNS mentions the 48 hours", () => {
  expect(adviceFor({ state: "pending_dns" }).join(" ")).toContain("up to 48 hours");
});

test.each(DOMAIN_STATES)("there is advice for the state %s, and it mentions no button", (state) => {
  const attentions = state === "needs_attention" ? ATTENTION_REASONS : [undefined];
  const advice = attentions.flatMap((attention) => [
    ...adviceFor({ state, ...(attention && { attention }) }),
    ...adviceFor({ state, ...(attention && { attention }) }, "machine"),
  ]);
  expect(advice.length).toBeGreaterThan(0);
  expect(advice.join(" ")).not.toMatch(/choose|click|Re-verify/i);
  for (const step of advice) expect(step).toMatch(/^[A-Z].+[.]$/);
});
