import { describe, expect, test } from "vitest";
import type { HostFacts } from "../../../lib/domains/status/facts.ts";
import {
  type AttentionReason,
  addHost,
  CERTIFICATE_TIMEOUT_MS,
  type HostState,
  type HostStatus,
  nextStatus,
  statusAt,
  VALIDATION_TIMEOUT_MS,
} from "../../../lib/domains/status/status.ts";

const MINUTE = 60_000;
const NOON = Date.UTC(2026, 10, 20, 12);
const added = addHost("orders.example.com", NOON);
const verified: HostStatus = { ...added, state: "verified", verifiedAt: NOON };

const SEEN = {
  missing: { dns: "missing" },
  disagreeing: { dns: "disagreement" },
  unanswered: { dns: "unknown", certificate: "unknown" },
  verified: { dns: "ok", certificate: "allowed", served: { outcome: "invalid" } },
  unreachable: { dns: "ok", certificate: "allowed", served: { outcome: "unreachable" } },
  unprobed: { dns: "ok", certificate: "allowed" },
  forbidden: { dns: "ok", certificate: "forbidden", served: { outcome: "invalid" } },
  caaUnanswered: { dns: "ok", certificate: "unknown", served: { outcome: "invalid" } },
  served: { dns: "ok", certificate: "allowed", served: { outcome: "valid" } },
  servedButForbidden: { dns: "ok", certificate: "forbidden", served: { outcome: "valid" } },
  servedElsewhere: { dns: "wrong_target", served: { outcome: "valid" } },
  issued: { authority: "issued" },
  issuedNotInstalled: {
    authority: "issued",
    dns: "ok",
    certificate: "allowed",
    served: { outcome: "invalid" },
  },
  rejected: { authority: "rejected" },
  timedOut: { authority: "timed_out" },
  requested: { authority: "requested", dns: "target_unknown", reasons: [{ code: "target_unknown" }] },
  requestedUnset: {
    authority: "requested",
    dns: "target_unknown",
    reasons: [{ code: "target_unknown" }, { code: "validation_record" }],
  },
  requestedUnanswered: {
    authority: "requested",
    dns: "target_unknown",
    reasons: [{ code: "target_unknown" }, { code: "dns_unanswered" }],
  },
  nothing: {},
} as const satisfies Record<string, HostFacts>;

const statusIn = (state: HostState, attention?: AttentionReason): HostStatus => ({
  ...added,
  state,
  ...(state !== "pending_dns" && attention !== "validation_timed_out" && { verifiedAt: NOON }),
  ...(attention && { attention }),
});

test.each<[HostState, keyof typeof SEEN, HostState, AttentionReason?]>([
  ["pending_dns", "nothing", "pending_dns"],
  ["pending_dns", "missing", "pending_dns"],
  ["pending_dns", "disagreeing", "pending_dns"],
  ["pending_dns", "unanswered", "pending_dns"],
  ["pending_dns", "unprobed", "certificate_pending"],
  ["pending_dns", "unreachable", "certificate_pending"],
  ["pending_dns", "forbidden", "needs_attention", "certificate_forbidden"],
  ["pending_dns", "caaUnanswered", "verified"],
  ["pending_dns", "served", "live"],
  ["pending_dns", "servedButForbidden", "live"],
  ["pending_dns", "servedElsewhere", "pending_dns"],
  ["pending_dns", "issued", "pending_dns"],
  ["pending_dns", "rejected", "needs_attention", "certificate_failed"],
  ["pending_dns", "timedOut", "needs_attention", "validation_timed_out"],
  ["pending_dns", "requested", "certificate_pending"],
  ["pending_dns", "requestedUnset", "pending_dns"],
  ["pending_dns", "requestedUnanswered", "pending_dns"],
  ["verified", "missing", "pending_dns"],
  ["verified", "disagreeing", "verified"],
  ["verified", "caaUnanswered", "verified"],
  ["verified", "verified", "certificate_pending"],
  ["certificate_pending", "missing", "pending_dns"],
  ["certificate_pending", "unanswered", "certificate_pending"],
  ["certificate_pending", "caaUnanswered", "certificate_pending"],
  ["certificate_pending", "forbidden", "needs_attention", "certificate_forbidden"],
  ["certificate_pending", "issued", "live"],
  ["certificate_pending", "issuedNotInstalled", "certificate_pending"],
  ["certificate_pending", "rejected", "needs_attention", "certificate_failed"],
  ["live", "nothing", "live"],
  ["live", "unanswered", "live"],
  ["live", "disagreeing", "live"],
  ["live", "unreachable", "live"],
  ["live", "requested", "live"],
  ["live", "servedButForbidden", "live"],
  ["live", "rejected", "needs_attention", "certificate_failed"],
  ["live", "verified", "needs_attention", "certificate_failed"],
  ["live", "forbidden", "needs_attention", "certificate_failed"],
  ["live", "missing", "needs_attention", "dns_broken"],
])("a host in the state %s that is seen as %s is then %s %s", (state, seen, expected, attention) => {
  const next = nextStatus(statusIn(state), SEEN[seen], NOON + 1);
  expect(next).toMatchObject({ state: expected, since: state === expected ? NOON : NOON + 1 });
  expect(next.attention).toBe(attention);
});

test.each<[AttentionReason, keyof typeof SEEN, HostState]>([
  ["certificate_forbidden", "forbidden", "needs_attention"],
  ["certificate_forbidden", "caaUnanswered", "needs_attention"],
  ["certificate_forbidden", "missing", "needs_attention"],
  ["certificate_forbidden", "verified", "certificate_pending"],
  ["dns_broken", "missing", "needs_attention"],
  ["dns_broken", "unanswered", "needs_attention"],
  ["dns_broken", "verified", "certificate_pending"],
  ["dns_broken", "served", "live"],
  ["certificate_failed", "verified", "needs_attention"],
  ["certificate_failed", "served", "live"],
  ["certificate_overdue", "verified", "needs_attention"],
  ["certificate_overdue", "issued", "live"],
  ["certificate_overdue", "rejected", "needs_attention"],
  ["validation_timed_out", "issued", "needs_attention"],
  ["validation_timed_out", "verified", "needs_attention"],
  // It stayed in needs_attention before.
  ["validation_timed_out", "served", "live"],
])("a host that needs attention because of %s and is seen as %s is then %s", (attention, seen, expected) => {
  const next = nextStatus(statusIn("needs_attention", attention), SEEN[seen], NOON + 1);
  expect(next.state).toBe(expected);
  expect(next.attention).toBe(expected === "needs_attention" ? attention : undefined);
});

test("a host that needs attention remembers that its records became right, and forgets it when they are lost", () => {
  const late = statusIn("needs_attention", "validation_timed_out");
  const right = nextStatus(late, SEEN.verified, NOON + 5);
  expect(right).toEqual({ ...late, verifiedAt: NOON + 5 });
  expect(nextStatus(right, SEEN.issued, NOON + 6).state).toBe("live");
  const lost = nextStatus(right, SEEN.missing, NOON + 6);
  expect(lost).toEqual(late);
  expect(nextStatus(lost, SEEN.issued, NOON + 7)).toEqual(late);
});

describe("time alone", () => {
  const due = NOON + CERTIFICATE_TIMEOUT_MS;

  test("makes a host need attention exactly 30 minutes after its first verification", () => {
    const pending = nextStatus(verified, SEEN.verified, NOON + 10 * MINUTE);
    expect(CERTIFICATE_TIMEOUT_MS).toBe(30 * MINUTE);
    expect(statusAt(pending, due - 1)).toBe(pending);
    expect(statusAt(pending, due)).toEqual({
      ...pending,
      state: "needs_attention",
      since: due,
      attention: "certificate_overdue",
    });
    expect(nextStatus(pending, SEEN.verified, due).state).toBe("needs_attention");
    expect(nextStatus(pending, SEEN.served, due)).toMatchObject({ state: "live", since: due });
  });

  test("makes a host need attention exactly 72 hours after it was added, however often its records changed", () => {
    const end = NOON + VALIDATION_TIMEOUT_MS;
    expect(VALIDATION_TIMEOUT_MS).toBe(72 * 60 * MINUTE);
    let status = added;
    for (let at = NOON; at < end; at += 20 * MINUTE) {
      status = nextStatus(status, at % (40 * MINUTE) === 0 ? SEEN.verified : SEEN.missing, at);
      expect(status.attention).toBeUndefined();
    }
    status = nextStatus(status, SEEN.missing, end - 1);
    expect(statusAt(status, end - 1)).toMatchObject({ state: "pending_dns", startedAt: NOON });
    expect(statusAt(status, end)).toMatchObject({ attention: "validation_timed_out", since: end });
    expect(nextStatus(added, SEEN.missing, end + 1)).toMatchObject({ since: end });
  });

  test("changes no live host, and a new attempt has time of its own", () => {
    const live = statusIn("live");
    expect(statusAt(live, due * 2)).toBe(live);
    const resolved = nextStatus(statusIn("needs_attention", "dns_broken"), SEEN.verified, due + 2);
    expect(resolved).toEqual({
      ...addHost(added.host, due + 2),
      state: "certificate_pending",
      verifiedAt: due + 2,
    });
    expect(statusAt(resolved, due + 1 + CERTIFICATE_TIMEOUT_MS)).toBe(resolved);
  });
});

test("a host that loses its records on the way has the time of its attempt, but not of its verification", () => {
  expect(nextStatus(verified, SEEN.missing, NOON + 1)).toEqual({ ...added, since: NOON + 1 });
});
