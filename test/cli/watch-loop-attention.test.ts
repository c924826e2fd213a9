import { describe, expect, test } from "vitest";
import { A, A_RIGHT, B, B_RIGHT, only, useServers, watchThrough } from "./watch-fixture.ts";

useServers();

describe("the hosts of a watch", () => {
  test("after 30 minutes without a certificate the three checks are added, and the watch ends", async () => {
    const { end, screen, lines } = await watchThrough(
      [
        { at: 0, records: [A_RIGHT] },
        { at: 29.9, records: [A_RIGHT] },
        { at: 30, records: [A_RIGHT] },
      ],
      { hosts: only(A) },
    );
    expect(end).toBe("needs_attention");
    expect(screen).toContain(`✗ ${A}  needs_attention for 0 s  (primary)`);
    expect(screen).toContain("verified 30 min ago");
    expect(screen).toContain("✗ certificate");
    expect(screen).toMatch(
      /now {2}No certificate has been issued 30 minutes after verification\.\n +1\. Does orders\.example\.com still verify\? Yes\.\n +2\. Do CAA records forbid the certificate authority\? No\.\n +3\. Request a new certificate: increase the number of orders\.example\.com under store-orders:reverify/,
    );
    expect(lines.at(-1)).toContain("store-orders:reverify");
  });

  test("the three checks are repeated while another host is pending", async () => {
    const forbidding = `${A} CAA 0 issue "letsencrypt.org"`;
    const caa = `d-a.platform.example CAA 0 issue "letsencrypt.org"`;
    const { end, screen, states } = await watchThrough([
      { at: 0, records: [A_RIGHT] },
      { at: 31, records: [A_RIGHT] },
      { at: 32, records: [A_RIGHT, caa] },
      { at: 33, records: [B_RIGHT, forbidding], issued: [B] },
    ]);
    expect(end).toBe("needs_attention");
    expect(states[2]).toEqual([`${A} needs_attention`, `${B} pending_dns`]);
    expect(states[3]).toEqual([`${A} needs_attention`, `${B} live`]);
    expect(screen).toMatch(
      /1\. Does orders\.example\.com still verify\? No\. At the DNS provider of example\.com, add/,
    );
    expect(screen).toMatch(
      /2\. Do CAA records forbid the certificate authority\? Yes\. .*add the record CAA 0 issue "amazon/,
    );
  });

  test("a certificate that is issued late makes the host live", async () => {
    const { end, states } = await watchThrough([
      { at: 0, records: [A_RIGHT] },
      { at: 31, records: [A_RIGHT] },
      { at: 40, records: [A_RIGHT, B_RIGHT], issued: [A, B] },
    ]);
    expect(states.map(([a]) => a)).toEqual([`${A} certificate_pending`, `${A} needs_attention`, `${A} live`]);
    expect(end).toBe("live");
  });

  test("CAA records that forbid the certificate need attention, and the host goes on once they are changed", async () => {
    const forbidden = [A_RIGHT, `example.com CAA 0 issue "letsencrypt.org"`];
    const { states, lines } = await watchThrough([
      { at: 0, records: forbidden },
      { at: 1, records: [A_RIGHT] },
    ]);
    expect(states.map(([a]) => a)).toEqual([`${A} needs_attention`, `${A} certificate_pending`]);
    expect(lines[0]).toContain(
      'add the record CAA 0 issue "amazon.com" at example.com; keep the existing records.',
    );
  });

  test("a failed lookup changes no state, and is shown", async () => {
    const { end, states, lines } = await watchThrough(
      [
        { at: 0, records: [A_RIGHT] },
        { at: 1, records: [A_RIGHT], failures: { "example.com": "REFUSED" } },
        { at: 2, records: [A_RIGHT], issued: [A] },
      ],
      { hosts: only(A) },
    );
    expect(states.flat()).toEqual([`${A} certificate_pending`, `${A} certificate_pending`, `${A} live`]);
    expect(lines.at(-2)).toContain("The DNS lookup failed.");
    expect(end).toBe("live");
  });

  test("a live host whose record or certificate breaks while another one is pending needs attention", async () => {
    const { states, saved } = await watchThrough([
      { at: 0, records: [A_RIGHT], issued: [A] },
      { at: 1, records: [`${A} A 192.0.2.1`], issued: [A] },
      { at: 2, records: [A_RIGHT], issued: [A] },
      { at: 3, records: [A_RIGHT] },
    ]);
    expect(states.map(([a]) => a)).toEqual([
      `${A} live`,
      `${A} needs_attention`,
      `${A} live`,
      `${A} needs_attention`,
    ]);
    expect(saved.get(A)).toMatchObject({ attention: "certificate_failed" });
  });

  test("a host without a record needs attention after 72 hours", async () => {
    const hour = 60;
    const { end, saved, screen } = await watchThrough(
      [
        { at: 0, records: [] },
        { at: 48 * hour, records: [] },
        { at: 72 * hour, records: [] },
      ],
      { hosts: only(A) },
    );
    expect([end, saved.get(A)?.attention]).toEqual(["needs_attention", "validation_timed_out"]);
    expect(screen).toContain("not verified within 72 hours");
  });
});
