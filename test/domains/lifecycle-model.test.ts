import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  addDomain,
  DOMAIN_EVENTS,
  type DomainEvent,
  domainAt,
  type TrackedDomain,
  transitionDomain,
} from "../../lib/domains/status/status.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/**
 * What the sentences of lib/domains/README.md#domain-verification say about a domain, as facts from which its state follows.
 * Written from those sentences alone; the table in lib/domains/lifecycle.ts has to agree with it.
 */
interface Facts {
  readonly attemptAt: number;
  /** Since when the record is right. */
  readonly verifiedAt?: number | undefined;
  readonly requested?: boolean;
  readonly live?: boolean;
  readonly problem?: string | undefined;
  readonly removed?: boolean;
}

function stateOf({ removed, problem, live, verifiedAt, requested }: Facts): string {
  if (removed) return "removed";
  if (problem !== undefined) return `needs_attention ${problem}`;
  if (live) return "live";
  if (verifiedAt === undefined) return "pending_dns";
  return requested ? "certificate_pending" : "verified";
}

/** The facts at an instant: a certificate may take 30 minutes, verification 72 hours. */
function pass(facts: Facts, at: number): Facts {
  const { attemptAt, verifiedAt, live, problem, removed } = facts;
  if (live || problem !== undefined || removed) return facts;
  if (verifiedAt === undefined) {
    return at - attemptAt < 72 * HOUR ? facts : { ...facts, problem: "validation_timed_out" };
  }
  return at - verifiedAt < 30 * MINUTE ? facts : { ...facts, problem: "certificate_overdue" };
}

/** The facts after an event, or the reason why it is not allowed. */
function apply(earlier: Facts, event: DomainEvent, at: number): Facts | string {
  const facts = pass(earlier, at);
  const { verifiedAt, requested, live, problem } = facts;
  if (event === "remove") return { ...facts, removed: true };
  if (facts.removed) return "domain_removed";
  const verified = { ...facts, verifiedAt: verifiedAt ?? at };
  const unverified = { ...facts, verifiedAt: undefined, requested: false };
  switch (event) {
    case "reverify":
      return problem === undefined ? "nothing_to_reverify" : { attemptAt: at };
    case "dns_unknown":
      return facts;
    case "dns_verified":
      return verified;
    case "dns_failed":
      return live && problem === undefined ? { ...unverified, problem: "dns_broken" } : unverified;
    case "certificate_forbidden":
      return live || problem !== undefined ? verified : { ...verified, problem: "certificate_forbidden" };
    case "certificate_requested":
      if (problem !== undefined) return "reverify_first";
      return verifiedAt === undefined ? "not_verified" : { ...facts, requested: true };
    case "certificate_issued":
      if (verifiedAt === undefined) return "not_verified";
      if (!requested && !live && problem === undefined) return "certificate_not_requested";
      return { ...facts, requested: true, live: true, problem: undefined };
    case "certificate_failed":
      if (problem !== undefined) return facts;
      if (verifiedAt === undefined) return "not_verified";
      return requested ? { ...facts, problem: "certificate_failed" } : "certificate_not_requested";
  }
}

const event = fc.oneof(
  { weight: 200, arbitrary: fc.constantFrom(...DOMAIN_EVENTS.filter((each) => each !== "remove")) },
  { weight: 1, arbitrary: fc.constant<DomainEvent>("remove") },
);
const wait = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(0, 1, MINUTE, 10 * MINUTE) },
  { weight: 1, arbitrary: fc.constantFrom(30 * MINUTE - 1, 30 * MINUTE, 5 * HOUR, 72 * HOUR - 1, 72 * HOUR) },
);
const anything = fc.array(fc.tuple(event, wait), { minLength: 50, maxLength: 50 });
// Records that change every 20 minutes, for more than 72 hours.
const flapping = fc.array(
  fc.tuple(fc.constantFrom<DomainEvent>("dns_verified", "dns_failed"), fc.constant(20 * MINUTE)),
  { minLength: 250, maxLength: 250 },
);

/** Expects two values to be the same. Calling `expect` for each of these events would take most of the time. */
function same(actual: unknown, expected: unknown): void {
  if (actual !== expected) expect(actual).toBe(expected);
}

test("the lifecycle agrees with a model of its documentation on 200,000 random events", () => {
  const reached = new Set<string>();
  let events = 0;
  const agree = (sequence: readonly (readonly [DomainEvent, number])[]) => {
    let at = 0;
    let domain: TrackedDomain = addDomain("orders.example.com", at);
    let facts: Facts = { attemptAt: at };
    for (const [event, wait] of sequence) {
      at += wait;
      events++;
      const result = transitionDomain(domain, event, at);
      const expected = apply(facts, event, at);
      const refusal = typeof expected === "string" ? expected : undefined;
      same(result.ok ? undefined : result.code, refusal);
      if (result.ok) domain = result.domain;
      if (typeof expected !== "string") facts = expected;
      const { state, attention = "", verifiedAt } = domainAt(domain, at);
      const now = `${state} ${attention}`.trim();
      same(now, stateOf(pass(facts, at)));
      if (state !== "removed") same(verifiedAt, facts.verifiedAt);
      reached.add(now);
    }
  };
  fc.assert(fc.property(anything, agree), { numRuns: 3600, seed: 20_261_123 });
  fc.assert(fc.property(flapping, agree), { numRuns: 80, seed: 20_261_123 });
  expect(events).toBeGreaterThanOrEqual(200_000);
  expect([...reached].toSorted()).toEqual([
    "certificate_pending",
    "live",
    "needs_attention certificate_failed",
    "needs_attention certificate_forbidden",
    "needs_attention certificate_overdue",
    "needs_attention dns_broken",
    "needs_attention validation_timed_out",
    "pending_dns",
    "removed",
    "verified",
  ]);
});

describe("a certificate makes no domain live whose records are not verified", () => {
  const outcomeOf = (...events: readonly [DomainEvent, number][]) => {
    let domain = addDomain("orders.example.com", 0);
    const codes: string[] = [];
    for (const [event, at] of events) {
      const result = transitionDomain(domain, event, at);
      codes.push(result.ok ? result.domain.state : result.code);
      if (result.ok) domain = result.domain;
    }
    return codes.at(-1);
  };

  test("a domain that was never verified is refused after 71 and after 73 hours", () => {
    expect(outcomeOf(["certificate_issued", 71 * HOUR])).toBe("not_verified");
    expect(outcomeOf(["certificate_issued", 73 * HOUR])).toBe("not_verified");
  });

  test("a renewal while the records are wrong leaves a domain in needs_attention", () => {
    const live: readonly [DomainEvent, number][] = [
      ["dns_verified", 1],
      ["certificate_requested", 2],
      ["certificate_issued", 3],
      ["dns_failed", 4],
    ];
    expect(outcomeOf(...live, ["certificate_issued", 5])).toBe("not_verified");
    expect(outcomeOf(...live, ["dns_verified", 5], ["certificate_issued", 6])).toBe("live");
  });

  test("a domain whose records change all the time needs attention after 72 hours", () => {
    let domain = addDomain("orders.example.com", 0);
    for (let minute = 20; minute < 80 * 60; minute += 20) {
      const event = minute % 40 === 0 ? "dns_failed" : "dns_verified";
      const result = transitionDomain(domain, event, minute * 60_000);
      if (result.ok) domain = result.domain;
      expect(domain.state === "needs_attention").toBe(minute >= 72 * 60);
    }
  });
});
