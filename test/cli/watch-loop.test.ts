import { describe, expect, test } from "vitest";
import { runWatch } from "../../lib/cli/watch-loop.ts";
import {
  A,
  A_RIGHT,
  B,
  B_RIGHT,
  B_WRONG,
  MINUTE,
  NOON,
  only,
  useServers,
  watchThrough,
} from "./watch-fixture.ts";

useServers();

describe("a watch", () => {
  test("two hosts with their own targets are followed through every state until both are live", async () => {
    const { end, states, lines, screen } = await watchThrough([
      { at: 0, records: [] },
      { at: 5, records: [A_RIGHT, B_WRONG] },
      { at: 10, records: [A_RIGHT, B_RIGHT] },
      { at: 12, records: [A_RIGHT, B_RIGHT], issued: [A] },
      { at: 39, records: [A_RIGHT, B_RIGHT], issued: [A] },
      { at: 39.5, records: [A_RIGHT, B_RIGHT], issued: [A, B] },
    ]);
    expect(end).toBe("live");
    expect(states).toEqual([
      [`${A} pending_dns`, `${B} pending_dns`],
      [`${A} certificate_pending`, `${B} pending_dns`],
      [`${A} certificate_pending`, `${B} certificate_pending`],
      [`${A} live`, `${B} certificate_pending`],
      [`${A} live`, `${B} certificate_pending`],
      [`${A} live`, `${B} live`],
    ]);
    expect(lines.map((line) => line.split("  ").slice(0, 3).join(" "))).toEqual([
      `2026-11-20T12:00:00Z ${A} pending_dns`,
      `2026-11-20T12:00:00Z ${B} pending_dns`,
      `2026-11-20T12:05:00Z ${A} verified`,
      `2026-11-20T12:05:00Z ${A} certificate_pending`,
      `2026-11-20T12:05:00Z ${B} pending_dns`,
      `2026-11-20T12:10:00Z ${B} verified`,
      `2026-11-20T12:10:00Z ${B} certificate_pending`,
      `2026-11-20T12:12:00Z ${A} live`,
      `2026-11-20T12:39:30Z ${B} live`,
    ]);
    expect(lines[1]).toContain("add a CNAME record: name www, value d-b.platform.example, TTL 3600.");
    expect(lines[1]).toContain("DNS changes may take up to 48 hours to propagate.");
    expect(lines[4]).toContain("record CNAME d-a.platform.example");
    expect(lines[4]).toContain("change the value of the CNAME record www to d-b.platform.example.");
    expect(screen).toContain("2 of 2 hosts live at 2026-11-20T12:39:30Z.");
    expect(screen).toMatch(/✓ certificate {2,}valid until \d{4}-\d\d-\d\d\n/);
  });

  test("the screen shows the time since verification, what to do now, and the steps still to come", async () => {
    const moments = [
      { at: 0, records: [A_RIGHT] },
      { at: 12, records: [A_RIGHT] },
    ];
    const { end, screen } = await watchThrough(moments, { hosts: only(A) });
    expect(end).toBe("stopped");
    expect(screen).toBe(`\
… ${A}  certificate_pending for 12 min  (primary)
    ✓ record       CNAME d-a.platform.example
    ✓ verified     verified 12 min ago, needs attention in 18 min
    … certificate  requested; the server presents a certificate for *.platform.example
      live
    now  The certificate is issued automatically, usually within a couple of minutes.

0 of 1 host live at 2026-11-20T12:12:00Z.
`);
  });

  test("a resumed watch continues with the time of verification", async () => {
    const first = await watchThrough([{ at: 0, records: [A_RIGHT] }], { hosts: only(A) });
    expect(first.end).toBe("stopped");
    const resumed = await watchThrough([{ at: 20, records: [A_RIGHT] }], {
      hosts: only(A),
      earlier: first.saved,
    });
    expect(resumed.screen).toContain("verified 20 min ago, needs attention in 10 min");
    const late = await watchThrough([{ at: 30, records: [A_RIGHT] }], {
      hosts: only(A),
      earlier: first.saved,
    });
    expect([late.end, late.saved.get(A)?.since]).toEqual(["needs_attention", NOON + 30 * MINUTE]);
  });

  test("with reverify, a host that needs attention gets another 30 minutes; without it, it does not", async () => {
    const { saved } = await watchThrough(
      [
        { at: 0, records: [A_RIGHT] },
        { at: 30, records: [A_RIGHT] },
      ],
      { hosts: only(A) },
    );
    const again = { hosts: only(A), earlier: saved };
    expect((await watchThrough([{ at: 40, records: [A_RIGHT] }], again)).end).toBe("needs_attention");
    const { end, screen } = await watchThrough(
      [
        { at: 40, records: [A_RIGHT] },
        { at: 69, records: [A_RIGHT] },
      ],
      { ...again, reverify: true },
    );
    expect(end).toBe("stopped");
    expect(screen).toContain("verified 29 min ago, needs attention in 1 min");
  });

  test("a watch stops during an observation that does not return", async () => {
    const end = await runWatch(new Map(), {
      clock: () => NOON,
      observe: () => new Promise(() => {}),
      save: () => {},
      show: async () => {},
      sleep: async () => {},
      stopped: Promise.resolve("stopped"),
    });
    expect(end).toBe("stopped");
  });
});
