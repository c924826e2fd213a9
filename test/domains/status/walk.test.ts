import { expect, test } from "vitest";
import type { HostFacts } from "../../../lib/domains/status/facts.ts";
import { REASONS } from "../../../lib/domains/status/reasons.ts";
import { addHost, nextStatus, statusAt } from "../../../lib/domains/status/status.ts";
import { type OldDomain, oldAdvance, oldDomainAt, oldTransition } from "./old-table.ts";

const MINUTE = 60_000;

/** A generator of numbers from 0 up to a limit (mulberry32). */
function createRandom(seed: number) {
  let state = seed;
  return (limit: number): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296) * limit);
  };
}

const DNS_STATES = Object.values(REASONS).flatMap((rule) => (rule.aspect === "dns" ? [rule.state] : []));
const DNS = [...DNS_STATES, ...DNS_STATES.map(() => "ok" as const)];
const CERTIFICATES = ["allowed", "allowed", "forbidden", "unknown"] as const;
const SERVED = ["valid", "invalid", "unreachable", undefined] as const;
const WAITS = [0, 1, MINUTE, 10 * MINUTE, 30 * MINUTE - 1, 30 * MINUTE, 5 * 60 * MINUTE, 72 * 60 * MINUTE];

/** What the authority says, and the events by which a program reported it before. */
const REPORTS = [
  ["issued", ["certificate_requested", "certificate_issued"]],
  ["rejected", ["certificate_failed"]],
] as const;

/** The old table, event by event. Undefined if it refuses the last one. */
function report(domain: OldDomain, events: readonly string[], at: number): OldDomain | undefined {
  let reached: OldDomain | undefined = domain;
  for (const event of events) reached = oldTransition(reached ?? domain, event, at);
  return reached;
}

test("300,000 random steps give what the table of events gave, except for a host that was stuck", () => {
  const random = createRandom(60);
  const pick = <T>(values: readonly T[]): T => values[random(values.length)] as T;
  let stuck = 0;
  const reached = new Set<string>();
  for (let walk = 0; walk < 3000; walk++) {
    let at = 0;
    let status = addHost("orders.example.com", at);
    let old: OldDomain = { state: "pending_dns", since: at };
    for (let step = 0; step < 100; step++) {
      at += pick(WAITS);
      const before = statusAt(status, at);
      if (random(8) === 0) {
        const [authority, events] = pick(REPORTS);
        const expected = report(old, events, at);
        // It refused what did not fit its state. Now what the authority says counts.
        if (expected === undefined) continue;
        old = expected;
        status = nextStatus(status, { authority }, at);
      } else {
        const [dns, certificate, outcome] = [pick(DNS), pick(CERTIFICATES), pick(SERVED)];
        const served = outcome && { outcome };
        const facts: HostFacts = { dns, certificate, ...(served && { served }) };
        old = oldAdvance(old, { dns, certificate, served }, at);
        status = nextStatus(status, facts, at);
        if (old.state === "needs_attention" && status.state === "live") {
          expect([before.state, dns, outcome, old.verifiedAt]).toEqual([
            "needs_attention",
            "ok",
            "valid",
            undefined,
          ]);
          stuck++;
          old = { state: "live", since: at, verifiedAt: at };
        }
      }
      const was = oldDomainAt(old, at);
      const now = statusAt(status, at);
      const text = ({ state, attention, since }: OldDomain) => `${state} ${attention} since ${since}`;
      if (text(was) !== text(now))
        expect.fail(`step ${step} of walk ${walk}: ${text(was)}, now ${text(now)}`);
      // What the old one forgot is remembered: whether the records of a host that needs attention are right.
      if (was.state === "needs_attention") old = { ...old, verifiedAt: now.verifiedAt };
      else if (was.verifiedAt !== now.verifiedAt)
        expect.fail(`verified at ${was.verifiedAt}, ${now.verifiedAt}`);
      reached.add(`${now.state} ${now.attention ?? ""}`.trim());
    }
  }
  expect(stuck).toBeGreaterThan(100);
  expect(reached.size).toBe(9);
});
