import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  addedDomain,
  CERTIFICATE_TIMEOUT_MS,
  DOMAIN_EVENTS,
  DOMAIN_LIFECYCLE,
  DOMAIN_STATES,
  type DomainEvent,
  type DomainState,
  type DomainStatus,
  domainAt,
  transitionDomain,
} from "../../lib/domains/lifecycle.ts";
import {
  adviceFor,
  CERTIFICATE_CHECKS,
  DOMAIN_REFUSALS,
  explainDomainRefusal,
  PROPAGATION,
} from "../../lib/domains/verification/advice.ts";

const NOON = Date.UTC(2026, 10, 20, 12);
const MINUTE = 60_000;

/** What every event does in every state, written a second time so that a slip in the table shows. */
const EXPECTED: Record<DomainState, Record<DomainEvent, string>> = {
  pending_dns: {
    dns_verified: "verified",
    dns_failed: "pending_dns",
    dns_unknown: "pending_dns",
    certificate_requested: "refused: not_verified",
    certificate_issued: "refused: not_verified",
    certificate_failed: "refused: not_verified",
    reverify: "refused: nothing_to_reverify",
    remove: "removed",
  },
  verified: {
    dns_verified: "verified",
    dns_failed: "pending_dns",
    dns_unknown: "verified",
    certificate_requested: "certificate_pending",
    certificate_issued: "refused: certificate_not_requested",
    certificate_failed: "refused: certificate_not_requested",
    reverify: "refused: nothing_to_reverify",
    remove: "removed",
  },
  certificate_pending: {
    dns_verified: "certificate_pending",
    dns_failed: "pending_dns",
    dns_unknown: "certificate_pending",
    certificate_requested: "certificate_pending",
    certificate_issued: "live",
    certificate_failed: "needs_attention",
    reverify: "refused: nothing_to_reverify",
    remove: "removed",
  },
  live: {
    dns_verified: "live",
    dns_failed: "needs_attention",
    dns_unknown: "live",
    certificate_requested: "live",
    certificate_issued: "live",
    certificate_failed: "needs_attention",
    reverify: "refused: nothing_to_reverify",
    remove: "removed",
  },
  needs_attention: {
    dns_verified: "needs_attention",
    dns_failed: "needs_attention",
    dns_unknown: "needs_attention",
    certificate_requested: "refused: reverify_first",
    certificate_issued: "live",
    certificate_failed: "needs_attention",
    reverify: "pending_dns",
    remove: "removed",
  },
  removed: {
    dns_verified: "refused: domain_removed",
    dns_failed: "refused: domain_removed",
    dns_unknown: "refused: domain_removed",
    certificate_requested: "refused: domain_removed",
    certificate_issued: "refused: domain_removed",
    certificate_failed: "refused: domain_removed",
    reverify: "refused: domain_removed",
    remove: "removed",
  },
};

const cells = DOMAIN_STATES.flatMap((state) => DOMAIN_EVENTS.map((event) => [state, event] as const));

/** A domain that has just entered a state in the ordinary way. */
function domainIn(state: DomainState): DomainStatus {
  const domain = { host: "orders.example.com", state, since: NOON };
  if (state === "pending_dns" || state === "removed") return domain;
  return {
    ...domain,
    verifiedAt: NOON,
    ...(state === "needs_attention" ? { attention: "certificate_failed" as const } : {}),
  };
}

/** Runs events one after the other; each has to be taken. */
function lived(domain: DomainStatus, ...events: readonly [DomainEvent, number][]): DomainStatus {
  return events.reduce((current, [event, at]) => {
    const result = transitionDomain(current, event, at);
    if (!result.moved) throw new Error(explainDomainRefusal(result));
    return result.domain;
  }, domain);
}

describe("the life of a custom domain (decision 21)", () => {
  test.each(cells)("a domain that is %s takes %s as the table says", (state, event) => {
    const result = transitionDomain(domainIn(state), event, NOON + MINUTE);
    const outcome = result.moved ? result.domain.state : `refused: ${result.refused}`;
    expect(outcome).toBe(EXPECTED[state][event]);
    if (result.moved) {
      expect(result.domain.since).toBe(result.domain.state === state ? NOON : NOON + MINUTE);
      expect(result.domain.attention !== undefined).toBe(result.domain.state === "needs_attention");
    } else {
      expect(explainDomainRefusal(result)).toBe(
        `The domain is ${state}, so '${event}' does not fit: ${DOMAIN_REFUSALS[result.refused]}.`,
      );
    }
  });

  test("goes from pending_dns over verified and certificate_pending to live", () => {
    const domain = lived(
      addedDomain("orders.example.com", NOON),
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

  test.each(DOMAIN_STATES)("ends by removal from %s", (state) => {
    expect(lived(domainIn(state), ["remove", NOON])).toMatchObject({ state: "removed" });
  });

  test("never leaves removed", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...DOMAIN_EVENTS)), (events) => {
        const last = events.reduce((domain, event, index) => {
          const result = transitionDomain(domain, event, NOON + index);
          return result.moved ? result.domain : domain;
        }, domainIn("removed"));
        expect(last.state).toBe("removed");
      }),
    );
  });

  test("knows no other way to live than a certificate that was issued", () => {
    for (const [state, event] of cells) {
      const rule = DOMAIN_LIFECYCLE[state][event];
      if ("to" in rule && rule.to === "live" && state !== "live") expect(event).toBe("certificate_issued");
    }
  });
});

describe("thirty minutes after verification without a certificate", () => {
  const verified = lived(addedDomain("orders.example.com", NOON), ["dns_verified", NOON + MINUTE]);
  const due = NOON + MINUTE + CERTIFICATE_TIMEOUT_MS;

  test("a verified domain needs attention, and not a millisecond sooner", () => {
    expect(domainAt(verified, due - 1)).toBe(verified);
    expect(domainAt(verified, due)).toEqual({
      host: "orders.example.com",
      state: "needs_attention",
      since: due,
      verifiedAt: NOON + MINUTE,
      attention: "certificate_overdue",
    });
  });

  test("so does one whose certificate is pending, and asking again does not start the time anew", () => {
    const pending = lived(
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

  test("an event that comes too late meets the domain as it is by then", () => {
    expect(transitionDomain(verified, "certificate_requested", due)).toMatchObject({
      moved: false,
      refused: "reverify_first",
    });
    expect(transitionDomain(verified, "certificate_issued", due)).toMatchObject({
      domain: { state: "live" },
    });
  });

  test("a domain that is live, or waits for DNS, waits for nothing else", () => {
    const live = lived(verified, ["certificate_requested", NOON + 2], ["certificate_issued", NOON + 3]);
    expect(domainAt(live, due * 2)).toBe(live);
    const pending = addedDomain("orders.example.com", NOON);
    expect(domainAt(pending, due * 2)).toBe(pending);
  });

  test("Re-verify starts a new attempt with thirty minutes of its own", () => {
    const again = lived(verified, ["reverify", due + 1], ["dns_verified", due + 2]);
    expect(again).toEqual({
      host: "orders.example.com",
      state: "verified",
      since: due + 2,
      verifiedAt: due + 2,
    });
    expect(domainAt(again, due + 1 + CERTIFICATE_TIMEOUT_MS).state).toBe("verified");
    expect(domainAt(again, due + 2 + CERTIFICATE_TIMEOUT_MS).state).toBe("needs_attention");
  });

  test("the reader is told the specification's three checks", () => {
    const advice = adviceFor(domainAt(verified, due)).join(" ");
    for (const check of CERTIFICATE_CHECKS) expect(advice).toContain(check);
    expect(CERTIFICATE_CHECKS.join(" ")).toMatch(/still verifies.*CAA records do not block.*Re-verify/);
  });
});

test("a domain that waits for DNS again forgets that it was verified", () => {
  for (const earlier of [
    lived(domainIn("verified"), ["dns_failed", NOON + 1]),
    lived(domainIn("needs_attention"), ["reverify", NOON + 1]),
  ]) {
    expect(earlier).toEqual({ host: "orders.example.com", state: "pending_dns", since: NOON + 1 });
  }
});

test("a live domain is not taken down by a resolver that does not answer", () => {
  expect(lived(domainIn("live"), ["dns_unknown", NOON + MINUTE])).toEqual(domainIn("live"));
});

test("a live domain whose record was changed needs attention, and is told that for DNS", () => {
  const broken = lived(domainIn("live"), ["dns_failed", NOON + MINUTE]);
  expect(broken).toMatchObject({ state: "needs_attention", attention: "dns_broken" });
  expect(adviceFor(broken).join(" ")).toContain(PROPAGATION);
});

test("whoever waits for DNS is told that it may take 48 hours (decision 21)", () => {
  expect(adviceFor({ state: "pending_dns" }).join(" ")).toContain("up to 48 hours");
});

test.each(DOMAIN_STATES)("there is advice for %s", (state) => {
  expect(adviceFor({ state }).length).toBeGreaterThan(0);
});
