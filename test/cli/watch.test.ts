import { describe, expect, test } from "vitest";
import { advanceWatch, formatChange, type WatchedHost } from "../../lib/cli/watch.ts";
import type { StackStatus } from "../../lib/domains/status/steps.ts";
import type { ObservedHost } from "../../lib/domains/status/verify.ts";

const NOON = Date.UTC(2026, 10, 20, 12);
const MINUTE = 60_000;
const A = "orders.example.com";
const B = "www.example.org";

const ANY = { role: "primary", certificate: "allowed", notes: [], records: [], advice: [] } as const;
const right = (host: string, served?: ObservedHost["served"]): ObservedHost => ({
  ...{ ...ANY, host, state: "verified", dns: "ok", found: "CNAME d.platform.example", reasons: [] },
  served: served ?? { outcome: "invalid", code: "wrong_host", found: "another certificate" },
});
const live = (host: string) => right(host, { outcome: "valid", expiresAt: Date.UTC(2027, 0, 1) });
const missing = (host: string, found = "nothing"): ObservedHost => ({
  ...{ ...ANY, host, state: "pending_dns", dns: "missing" },
  reasons: [{ code: "record_missing", host, name: host, found, expected: "CNAME", fix: "Set it." }],
});

/** The end of a watch that sees the hosts like this, at each so many minutes, and the lines that it prints. */
function follow(moments: readonly (readonly [minute: number, ...seen: readonly ObservedHost[]])[]) {
  let hosts: readonly WatchedHost[] = [];
  let end: ReturnType<typeof advanceWatch>["end"];
  const lines: string[] = [];
  for (const [minute, ...seen] of moments) {
    const at = NOON + minute * MINUTE;
    const step = advanceWatch(hosts, seen, at);
    ({ hosts, end } = step);
    lines.push(...step.changes.map((change) => formatChange(change, at)));
  }
  return { end, lines, states: hosts.map(({ status }) => status.attention ?? status.state) };
}

describe("a watch", () => {
  test("prints a line for each change of a host, and ends once all are live", () => {
    const moments = [
      [0, missing(A), missing(B)],
      [5, right(A), missing(B, "CNAME old")],
      [10, right(A), right(B)],
      [12, live(A), right(B)],
      [13, live(A), right(B)],
    ] as const;
    expect(follow(moments).end).toBeUndefined();
    const { end, lines } = follow([...moments, [29.5, live(A), live(B)]]);
    expect(end).toBe("live");
    expect(lines.map((line) => line.split("  ").slice(0, 3).join(" "))).toEqual([
      `2026-11-20T12:00:00Z ${A} pending_dns`,
      `2026-11-20T12:00:00Z ${B} pending_dns`,
      `2026-11-20T12:05:00Z ${A} certificate_pending`,
      `2026-11-20T12:05:00Z ${B} pending_dns`,
      `2026-11-20T12:10:00Z ${B} certificate_pending`,
      `2026-11-20T12:12:00Z ${A} live`,
      `2026-11-20T12:29:30Z ${B} live`,
    ]);
    expect(lines[1]).toMatch(/The record is missing\. Set it\. DNS changes may take up to 48 hours/);
    expect(lines.at(-1)).toMatch(/ {2}certificate valid until 2027-01-01$/);
  });

  test("a line has the time that is left for the certificate, and no line feed of a record", () => {
    expect(follow([[0, right(A)]]).lines).toEqual([
      `2026-11-20T12:00:00Z  ${A}  certificate_pending  certificate awaited; another certificate; verified 0 s ago, needs attention in 30 min  The certificate is issued automatically, usually within a couple of minutes.`,
    ]);
    expect(follow([[0, missing(A, "CNAME a\nb")]]).lines).toEqual([expect.stringMatching(/CNAME a\\nb/)]);
  });

  test("goes on with a host that is not settled beside one that needs attention, and then ends with that", () => {
    const moments = [
      [0, right(A), missing(B)],
      [31, right(A), missing(B)],
    ] as const;
    expect(follow(moments)).toMatchObject({ end: undefined, states: ["certificate_overdue", "pending_dns"] });
    const { end, lines } = follow([...moments, [32, right(A), live(B)]]);
    expect(end).toBe("needs_attention");
    expect(lines.at(-2)).toMatch(/verified 31 min ago {2}No certificate has been issued 30 minutes after/);
  });

  const REQUESTED = "certificate_pending";
  test.each<[string, number, StackStatus["state"], ObservedHost, string, string]>([
    ["20 minutes ago", -20, REQUESTED, right(A), REQUESTED, "needs attention in 10 min"],
    ["by a clock that is ahead", 1_000, REQUESTED, right(A), REQUESTED, "needs attention in 30 min"],
    ["30 minutes ago", -30, REQUESTED, right(A), "certificate_overdue", "No certificate has been issued"],
    ["30 minutes ago, if it is there", -30, REQUESTED, live(A), "live", "valid until"],
    ["31 minutes ago, without the record", -31, REQUESTED, missing(A), "pending_dns", "The record is"],
    ["72 hours ago", -72 * 60, "pending_dns", missing(A), "validation_timed_out", "within 72 hours"],
  ])("counts from a certificate that the stack requested %s", (...row) => {
    const [, minute, state, seen, expected, left] = row;
    const since = new Date(NOON + minute * MINUTE).toISOString();
    const { states, lines } = follow([[0, { ...seen, stack: { state, reason: "", next: [], since } }]]);
    expect(states).toEqual([expected]);
    expect(lines).toEqual([expect.stringContaining(left)]);
  });

  test("ends if the stack says that the authority has given up, and names the request that is left", () => {
    const reason = { code: "target_unknown", host: A, name: A, found: "", expected: "", fix: "" } as const;
    const state = { state: "needs_attention", attention: "validation_timed_out" } as const;
    const waiting: ObservedHost = { ...missing(A), dns: "target_unknown", reasons: [reason] };
    const { end, states, lines } = follow([[0, { ...waiting, stack: { ...state, reason: "", next: [] } }]]);
    expect([end, states]).toEqual(["needs_attention", ["validation_timed_out"]]);
    expect(lines).toEqual([expect.stringContaining("Request a new certificate:")]);
  });
});
