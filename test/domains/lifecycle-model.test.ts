import { describe, expect, test } from "vitest";
import {
  addDomain,
  DOMAIN_EVENTS,
  type DomainEvent,
  domainAt,
  type TrackedDomain,
  transitionDomain,
} from "../../lib/domains/lifecycle.ts";

/**
 * A second implementation of the lifecycle, from what the documentation says about a domain instead of a table. It
 * keeps facts, and derives the state from them whenever it is asked:
 *
 * - A domain is live from the time its certificate is issued, which it can be only while its records are verified and
 *   after it was requested, or late, when the domain already needs attention.
 * - A domain that is not live 72 hours after its attempt began needs attention; so does one without a certificate 30
 *   minutes after it was verified.
 * - A live domain needs attention if its records are wrong or its certificate fails, and not if a lookup fails or if
 *   CAA records only prevent the renewal.
 * - A domain that needs attention stays so until its certificate is issued or somebody lets it be verified anew.
 * - A domain can be removed at any time, and then stays removed.
 */
class Model {
  attemptSince: number;
  recordsRightSince: number | undefined;
  requested = false;
  live = false;
  attention: string | undefined;
  removed = false;

  constructor(at: number) {
    this.attemptSince = at;
  }

  state(): string {
    if (this.removed) return "removed";
    if (this.attention !== undefined) return "needs_attention";
    if (this.live) return "live";
    if (this.recordsRightSince === undefined) return "pending_dns";
    return this.requested ? "certificate_pending" : "verified";
  }

  pass(at: number): void {
    if (this.removed || this.live || this.attention !== undefined) return;
    const isUnverified = this.recordsRightSince === undefined;
    const isLate = at - this.attemptSince >= 72 * 3_600_000;
    const isOverdue = at - (this.recordsRightSince ?? at) >= 30 * 60_000;
    if (isLate || isOverdue) this.attention = isUnverified ? "validation_timed_out" : "certificate_overdue";
  }

  /** Returns false if the event is not allowed. */
  apply(event: DomainEvent, at: number): boolean {
    this.pass(at);
    if (this.removed) return event === "remove";
    const hadAttention = this.attention !== undefined;
    const isVerified = this.recordsRightSince !== undefined;
    switch (event) {
      case "remove":
        this.removed = true;
        return true;
      case "reverify":
        if (!hadAttention) return false;
        Object.assign(this, new Model(at));
        return true;
      case "dns_verified":
        this.recordsRightSince ??= at;
        return true;
      case "dns_unknown":
        return true;
      case "dns_failed":
        this.recordsRightSince = undefined;
        if (this.live) this.attention = "dns_broken";
        this.live = false;
        this.requested = false;
        return true;
      case "certificate_forbidden":
        this.recordsRightSince ??= at;
        if (!this.live && !hadAttention) this.attention = "certificate_forbidden";
        return true;
      case "certificate_requested":
        if (hadAttention || !isVerified) return false;
        this.requested = true;
        return true;
      case "certificate_issued":
        if (!isVerified || (!hadAttention && !this.live && !this.requested)) return false;
        this.attention = undefined;
        this.live = true;
        return true;
      case "certificate_failed":
        if (hadAttention) return true;
        if (!isVerified || (!this.live && !this.requested)) return false;
        this.attention = "certificate_failed";
        this.live = false;
        return true;
    }
  }
}

/** A reproducible sequence of numbers below 1 (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const STEPS_MS = [0, 1, 60_000, 10 * 60_000, 30 * 60_000, 5 * 3_600_000, 72 * 3_600_000];

describe("the lifecycle and a model of its documentation", () => {
  test("agree on 200,000 random events at random times", () => {
    const random = createRandom(20_261_123);
    const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
    const reached = new Set<string>();
    // A removed domain accepts nothing, so removals are rare.
    const events = DOMAIN_EVENTS.filter((event) => event !== "remove");
    for (let sequence = 0; sequence < 4000; sequence++) {
      // In every tenth sequence the records change every 20 minutes, for more than 72 hours.
      const flaps = sequence % 10 === 0;
      let at = 0;
      let domain: TrackedDomain = addDomain("orders.example.com", at);
      const model = new Model(at);
      const history: string[] = [];
      for (let index = 0; index < (flaps ? 250 : 50); index++) {
        at += flaps ? 20 * 60_000 : pick(STEPS_MS.slice(0, 1 + Math.floor(random() * STEPS_MS.length)));
        const event = flaps
          ? pick(["dns_verified", "dns_failed", "dns_failed"] as const)
          : pick(random() < 0.005 ? (["remove"] as const) : events);
        history.push(`${at} ${event}`);
        const result = transitionDomain(domain, event, at);
        if (result.ok) domain = result.domain;
        const allowed = model.apply(event, at);
        const now = domainAt(domain, at);
        const seen = { ok: result.ok, state: now.state, attention: now.attention };
        const expected = { ok: allowed, state: model.state(), attention: model.attention };
        if (expected.state === "removed") delete (expected as { attention?: unknown }).attention;
        if (now.state !== expected.state || result.ok !== allowed) {
          expect({ history, ...seen }).toEqual({ history, ...expected });
        }
        expect(now.attention).toBe(expected.attention);
        reached.add(`${now.state} ${now.attention ?? ""}`.trim());
      }
    }
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
});

describe("a certificate makes no domain live whose records are not verified", () => {
  const HOUR = 3_600_000;
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
