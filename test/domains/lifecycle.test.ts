import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  addDomain,
  CERTIFICATE_TIMEOUT_MS,
  DOMAIN_EVENTS,
  DOMAIN_LIFECYCLE,
  DOMAIN_STATES,
  type DomainEvent,
  type DomainState,
  domainAt,
  type TrackedDomain,
  transitionDomain,
  VALIDATION_TIMEOUT_MS,
} from "../../lib/domains/lifecycle.ts";
import {
  adviceFor,
  DOMAIN_TRANSITION_ERRORS,
  explainDomainTransitionError,
  PROPAGATION,
} from "../../lib/domains/verification/advice.ts";

const NOON = Date.UTC(2026, 10, 20, 12);
const MINUTE = 60_000;

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

/** A domain that has just entered a state. */
function domainIn(state: DomainState): TrackedDomain {
  const domain = { host: "orders.example.com", state, since: NOON };
  if (state === "pending_dns" || state === "removed") return domain;
  return {
    ...domain,
    verifiedAt: NOON,
    ...(state === "needs_attention" ? { attention: "certificate_failed" as const } : {}),
  };
}

/** Applies events in order; each must be allowed. */
function applyEvents(domain: TrackedDomain, ...events: readonly [DomainEvent, number][]): TrackedDomain {
  return events.reduce((current, [event, at]) => {
    const result = transitionDomain(current, event, at);
    if (!result.ok) throw new Error(explainDomainTransitionError(result));
    return result.domain;
  }, domain);
}

describe("the life cycle of a custom domain", () => {
  test.each(cells)("in state %s, event %s has the result of the table", (state, event) => {
    const result = transitionDomain(domainIn(state), event, NOON + MINUTE);
    const outcome = result.ok ? result.domain.state : `error: ${result.code}`;
    expect(outcome).toBe(EXPECTED[state][event]);
    if (result.ok) {
      expect(result.domain.since).toBe(result.domain.state === state ? NOON : NOON + MINUTE);
      expect(result.domain.attention !== undefined).toBe(result.domain.state === "needs_attention");
    } else {
      expect(result).toMatchObject({ state, event });
      expect(explainDomainTransitionError(result)).toBe(
        `The domain is ${state} and does not accept '${event}': ${DOMAIN_TRANSITION_ERRORS[result.code]}.`,
      );
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

describe("a certificate that has not been issued 30 minutes after verification", () => {
  const verified = applyEvents(addDomain("orders.example.com", NOON), ["dns_verified", NOON + MINUTE]);
  const due = NOON + MINUTE + CERTIFICATE_TIMEOUT_MS;

  test("a verified domain needs attention after exactly 30 minutes without a certificate", () => {
    expect(CERTIFICATE_TIMEOUT_MS).toBe(30 * MINUTE);
    expect(domainAt(verified, due - 1)).toBe(verified);
    expect(domainAt(verified, due)).toEqual({
      host: "orders.example.com",
      state: "needs_attention",
      since: due,
      verifiedAt: NOON + MINUTE,
      attention: "certificate_overdue",
    });
  });

  test("a domain whose certificate is pending needs attention 30 minutes after its first verification", () => {
    const pending = applyEvents(
      verified,
      ["certificate_requested", NOON + 10 * MINUTE],
      ["dns_verified", NOON + 20 * MINUTE],
      ["dns_unknown", NOON + 25 * MINUTE],
    );
    expect(domainAt(pending, due - 1).state).toBe("certificate_pending");
    expect(domainAt(pending, due)).toMatchObject({
      state: "needs_attention",
      attention: "certificate_overdue",
    });
  });

  test("an event after the 30 minutes applies to a domain that needs attention", () => {
    expect(transitionDomain(verified, "certificate_requested", due)).toMatchObject({
      ok: false,
      code: "reverify_first",
      state: "needs_attention",
    });
    expect(transitionDomain(verified, "certificate_issued", due)).toMatchObject({
      ok: true,
      domain: { state: "live" },
    });
  });

  test("a domain that is live or waits for DNS has no certificate timeout", () => {
    const live = applyEvents(verified, ["certificate_requested", NOON + 2], ["certificate_issued", NOON + 3]);
    expect(domainAt(live, due * 2)).toBe(live);
    const pending = addDomain("orders.example.com", NOON);
    expect(domainAt(pending, due)).toBe(pending);
  });

  test("reverify starts a new attempt with 30 minutes of its own", () => {
    const again = applyEvents(verified, ["reverify", due + 1], ["dns_verified", due + 2]);
    expect(again).toEqual({
      host: "orders.example.com",
      state: "verified",
      since: due + 2,
      verifiedAt: due + 2,
    });
    expect(domainAt(again, due + 1 + CERTIFICATE_TIMEOUT_MS).state).toBe("verified");
    expect(domainAt(again, due + 2 + CERTIFICATE_TIMEOUT_MS).state).toBe("needs_attention");
  });

  test.each(["certificate_overdue", "certificate_failed"] as const)(
    "the advice for %s names the three checks and the commands for them",
    (attention) => {
      expect(adviceFor({ state: "needs_attention", attention }).join(" ")).toMatch(
        /still verifies: run 'store-orders domains check'.*CAA records do not block.*new certificate: .* 'reverify'/,
      );
    },
  );
});

describe("a domain that is not verified within 72 hours", () => {
  const added = addDomain("orders.example.com", NOON);
  const due = NOON + 72 * 60 * MINUTE;

  test("a domain needs attention after exactly 72 hours, because the authority stops trying", () => {
    expect(VALIDATION_TIMEOUT_MS).toBe(72 * 60 * MINUTE);
    expect(domainAt(added, due - 1)).toBe(added);
    const overdue = domainAt(added, due + MINUTE);
    expect(overdue).toEqual({
      host: "orders.example.com",
      state: "needs_attention",
      since: due,
      attention: "validation_timed_out",
    });
    expect(adviceFor(overdue).join(" ")).toMatch(/72 hours.*Set the record.*new certificate: .* 'reverify'/);
  });

  test("reverify starts another 72 hours", () => {
    const again = applyEvents(added, ["reverify", due + 1]);
    expect(domainAt(again, due + 72 * 60 * MINUTE).state).toBe("pending_dns");
    expect(applyEvents(again, ["dns_verified", due + 2]).state).toBe("verified");
  });
});

test("a domain whose CAA records forbid the certificate needs attention, unless it is live", () => {
  const forbidden = applyEvents(domainIn("verified"), ["certificate_forbidden", NOON + MINUTE]);
  expect(forbidden).toMatchObject({ state: "needs_attention", attention: "certificate_forbidden" });
  expect(adviceFor(forbidden)[0]).toMatch(/^Change the CAA records that forbid the certificate/);
  expect(applyEvents(domainIn("live"), ["certificate_forbidden", NOON + MINUTE])).toEqual(domainIn("live"));
});

test("a domain that returns to pending_dns loses the time of its verification", () => {
  for (const earlier of [
    applyEvents(domainIn("verified"), ["dns_failed", NOON + 1]),
    applyEvents(domainIn("needs_attention"), ["reverify", NOON + 1]),
  ]) {
    expect(earlier).toEqual({ host: "orders.example.com", state: "pending_dns", since: NOON + 1 });
  }
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
  const advice = adviceFor({ state });
  expect(advice.length).toBeGreaterThan(0);
  expect(advice.join(" ")).not.toMatch(/choose|click|Re-verify/i);
});
