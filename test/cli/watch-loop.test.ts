import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runWatch, type WatchEnd } from "../../lib/cli/watch-loop.ts";
import type { HostToVerify } from "../../lib/domains/verification/verify-hosts.ts";
import { formatChange, formatScreen } from "../../lib/domains/watch/format.ts";
import { observeHosts } from "../../lib/domains/watch/observe.ts";
import { startWatch, type WatchState } from "../../lib/domains/watch/watch.ts";
import { createCertificateProbe } from "../../lib/node/certificate-probe.ts";
import { createDnsResolver } from "../../lib/node/dns-resolver.ts";
import { createTestAuthority } from "../support/certificates.ts";
import { type DnsServer, type Failure, startDnsServer } from "../support/dns-server.ts";
import { startTlsServer, type TlsServer } from "../support/tls-server.ts";

const NOON = Date.UTC(2026, 10, 20, 12);
const MINUTE = 60_000;
const authority = createTestAuthority();
const A = "orders.example.com";
const B = "www.example.org";
const HOSTS: readonly HostToVerify[] = [
  { host: A, role: "primary", target: "d-a.platform.example" },
  { host: B, role: "redirect", target: "d-b.platform.example" },
];
const PLATFORM = "d-a.platform.example A 127.0.0.1\nd-b.platform.example A 127.0.0.1";
const A_RIGHT = `${A} CNAME d-a.platform.example`;
const B_RIGHT = `${B} CNAME d-b.platform.example`;
const B_WRONG = `${B} CNAME d-a.platform.example`;

let dns: DnsServer;
let tls: TlsServer;
beforeAll(async () => {
  dns = await startDnsServer("");
  tls = await startTlsServer({});
});
afterAll(async () => {
  await dns[Symbol.asyncDispose]();
  await tls[Symbol.asyncDispose]();
});

/** What the world looks like at one time. */
interface Moment {
  /** Minutes since the start. */
  readonly at: number;
  readonly records: readonly string[];
  readonly failures?: Readonly<Record<string, Failure>>;
  /** The hosts whose certificate the platform has. */
  readonly issued?: readonly string[];
}

interface Watched {
  readonly end: WatchEnd;
  /** The state, with the host, after every observation. */
  readonly states: readonly (readonly string[])[];
  readonly lines: readonly string[];
  readonly screen: string;
  readonly saved: WatchState;
}

/** Watches hosts with the real resolver and probe, while the world changes at each observation; nothing sleeps. */
async function watchThrough(
  [first, ...later]: readonly Moment[],
  {
    hosts = HOSTS,
    earlier = new Map(),
    reverify = false,
  }: {
    readonly hosts?: readonly HostToVerify[];
    readonly earlier?: WatchState;
    readonly reverify?: boolean;
  } = {},
): Promise<Watched> {
  const resolver = createDnsResolver({ servers: [dns.address], maxAttempts: 1 });
  const probe = createCertificateProbe({ resolver, port: tls.port, ca: authority.cert });
  const states: string[][] = [];
  const lines: string[] = [];
  let screen = "";
  let saved: WatchState = new Map();
  let now = NOON;
  const enter = ({ at, records, failures, issued = [] }: Moment) => {
    now = NOON + at * MINUTE;
    dns.update([PLATFORM, ...records].join("\n"), failures);
    tls.certificates.clear();
    tls.certificates.set("*", authority.issue(["*.platform.example"]));
    for (const host of issued) tls.certificates.set(host, authority.issue([host]));
  };
  const { promise: stopped, resolve: stop } = Promise.withResolvers<"stopped">();

  if (first !== undefined) enter(first);
  const names = hosts.map(({ host }) => host);
  const end = await runWatch(startWatch(names, earlier, { at: now, reverify }), {
    clock: () => now,
    observe: () => observeHosts(hosts, { resolver, probe }),
    save: (state) => {
      saved = state;
    },
    async show({ hosts: screens, changes }) {
      states.push(screens.map(({ host, domain }) => `${host} ${domain.state}`));
      lines.push(...changes.map((change) => formatChange(change, now)));
      screen = formatScreen(screens, now);
    },
    async sleep() {
      const next = later.shift();
      if (next === undefined) stop("stopped");
      else enter(next);
    },
    stopped,
  });
  return { end, states, lines, screen, saved };
}

const only = (host: string) => HOSTS.filter((each) => each.host === host);

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
