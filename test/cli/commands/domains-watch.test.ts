import { execFile } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { openWatchState, runWatch } from "../../../lib/cli/commands/domains-watch.ts";
import { addDomain, domainAt } from "../../../lib/domains/lifecycle.ts";
import { createTestAuthority } from "../../support/certificates.ts";
import { createCommandLine, waitForExit, waitForOutput } from "../../support/command-line.ts";
import { startDnsServer } from "../../support/dns-server.ts";
import { startTlsServer, type TlsServer } from "../../support/tls-server.ts";
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
} from "../watch-fixture.ts";

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

test("the state of a watch is written without touching another file, and leaves none behind", () => {
  const folder = mkdtempSync(join(tmpdir(), "store-orders-watch-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "state");
  writeFileSync(`${path}.next`, "mine");
  openWatchState(path, 0).save(new Map([["a.example.com", addDomain("a.example.com", 0)]]), 0);
  expect(readdirSync(folder).sort()).toEqual(["state", "state.next"]);
  expect(readFileSync(`${path}.next`, "utf8")).toBe("mine");
  expect([...openWatchState(path, 1).earlier.keys()]).toEqual(["a.example.com"]);
});

test("two watches in one directory keep each other's hosts, and the time of the first one", () => {
  const folder = mkdtempSync(join(tmpdir(), "store-orders-watch-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "state");
  const [one, other] = [openWatchState(path, 0), openWatchState(path, 0)];
  const verified = (host: string, at: number) =>
    [host, { host, state: "verified", since: at, verifiedAt: at, attemptSince: 0 }] as const;
  one.save(new Map([verified("a.example.com", 1), verified("both.example.com", 1)]), 1);
  other.save(new Map([verified("b.example.com", 2), verified("both.example.com", 2)]), 2);
  one.save(new Map([verified("a.example.com", 1)]), 3);
  const { earlier } = openWatchState(path, 4);
  expect([...earlier.keys()].toSorted()).toEqual(["a.example.com", "b.example.com", "both.example.com"]);
  expect(earlier.get("both.example.com")).toMatchObject({ since: 1, verifiedAt: 1 });
});

test("four processes that save at the same time lose no host", async () => {
  const folder = mkdtempSync(join(tmpdir(), "store-orders-watch-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "state");
  const module = new URL("../../../lib/cli/commands/domains-watch.ts", import.meta.url).href;
  const script = (name: string) => `
    const { openWatchState } = await import(${JSON.stringify(module)});
    const file = openWatchState(${JSON.stringify(path)}, 0);
    for (let index = 0; index < 25; index++) {
      const host = "${name}" + index + ".example.com";
      file.save(new Map([[host, { host, state: "live", since: 0 }]]), 1);
    }`;
  const run = promisify(execFile);
  const names = ["a", "b", "c", "d"];
  await Promise.all(
    names.map((name) => run(process.execPath, ["--input-type=module", "--eval", script(name)])),
  );
  expect(openWatchState(path, 2).earlier.size).toBe(100);
  expect(readdirSync(folder)).toEqual(["state"]);
});

test("a lock that a killed process has left is removed", () => {
  const folder = mkdtempSync(join(tmpdir(), "store-orders-watch-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "state");
  writeFileSync(`${path}.lock`, "1\n");
  utimesSync(`${path}.lock`, 0, 0);
  openWatchState(path, 0);
  expect(readdirSync(folder)).toEqual(["state"]);
});

test("a state that cannot replace what is at its path leaves no file behind", () => {
  const folder = mkdtempSync(join(tmpdir(), "store-orders-watch-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "state");
  const file = openWatchState(path, 0);
  rmSync(path);
  mkdirSync(path);
  expect(() => file.save(new Map(), 0)).toThrow("Give another path for the state with --state.");
  expect(readdirSync(folder)).toEqual(["state"]);
});

const cli = createCommandLine();
const authority = createTestAuthority();
const TARGET = "abc.platform.example";
const ZONE = `${TARGET} A 127.0.0.1\norders.example.com CNAME ${TARGET}\nwww.example.com CNAME ${TARGET}`;
let tls: TlsServer;

beforeAll(async () => {
  const hosts = ["orders.example.com", "www.example.com"];
  tls = await startTlsServer(Object.fromEntries(hosts.map((host) => [host, authority.issue([host])])));
  writeFileSync(join(cli.directory, "ca.pem"), authority.cert);
  const domains = {
    primary: "orders.example.com",
    redirects: [{ from: "www.example.com", to: "orders.example.com" }],
  };
  writeFileSync(join(cli.directory, "domains.json"), JSON.stringify({ domains }));
});
afterAll(async () => {
  await tls[Symbol.asyncDispose]();
  cli[Symbol.dispose]();
});

const env = { NODE_EXTRA_CA_CERTS: join(cli.directory, "ca.pem") };
const watch = (address: string, ...rest: readonly string[]) => [
  ...["domains", "watch", "domains.json", "--target", TARGET],
  ...["--resolver", address, "--tls-port", `${tls.port}`, ...rest],
];

test("domains watch prints one line per change, keeps its state, and exits with 0 once every host is live", async () => {
  await using server = await startDnsServer(ZONE);
  const { status, stdout, stderr } = await cli.run(watch(server.address), { env });
  expect([status, stderr]).toEqual([0, ""]);
  const words = stdout
    .trim()
    .split("\n")
    .map((line) => line.split("  ").slice(1, 3).join(" "));
  expect(words).toEqual([
    "orders.example.com verified",
    "orders.example.com certificate_pending",
    "orders.example.com live",
    "www.example.com verified",
    "www.example.com certificate_pending",
    "www.example.com live",
  ]);
  const { watchedDomains } = JSON.parse(
    readFileSync(join(cli.directory, ".data/domains-watch.json"), "utf8"),
  );
  expect(watchedDomains).toMatchObject([
    { host: "orders.example.com", state: "live" },
    { host: "www.example.com", state: "live" },
  ]);
  const again = await cli.run(watch(server.address), { env });
  expect([again.status, again.stdout.trim().split("\n")]).toEqual([
    0,
    [expect.stringContaining("orders.example.com  live"), expect.stringContaining("www.example.com  live")],
  ]);
});

test("domains watch exits with 1 if a host needs attention, and reads a stack's outputs", async () => {
  const outputs = {
    "orders.example.com": {
      role: "primary",
      state: "live",
      record: { type: "CNAME", name: "orders", ttl: 3600, value: TARGET },
    },
    "www.example.com": {
      role: "redirect",
      state: "live",
      record: { type: "CNAME", name: "www", ttl: 3600, value: TARGET },
    },
  };
  await using server = await startDnsServer(`${ZONE}\nother.example.com A 192.0.2.1`);
  const forbidding = ZONE.replace(
    `www.example.com CNAME ${TARGET}`,
    `www.example.com CNAME d-b.platform.example\nd-b.platform.example A 127.0.0.1\nd-b.platform.example CAA 0 issue "letsencrypt.org"`,
  );
  server.update(forbidding);
  outputs["www.example.com"].record.value = "d-b.platform.example";
  await using others = await startTlsServer({
    "orders.example.com": authority.issue(["orders.example.com"]),
    "*": authority.issue(["*.platform.example"]),
  });
  const { status, stdout } = await cli.run(
    [
      "domains",
      "watch",
      "--stack",
      "-",
      "--resolver",
      server.address,
      "--tls-port",
      `${others.port}`,
      "--state",
      "stack-state.json",
      "--json",
    ],
    { env, input: JSON.stringify(outputs) },
  );
  expect(status).toBe(1);
  const changes = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(changes.at(-1)).toMatchObject({
    host: "www.example.com",
    state: "needs_attention",
    attention: "certificate_forbidden",
    todo: [
      expect.stringContaining("Ask its operator"),
      expect.any(String),
      expect.any(String),
      expect.any(String),
    ],
  });
  const schema = z.fromJSONSchema(JSON.parse((await cli.run(["domains", "schema", "watch"])).stdout));
  for (const change of changes) expect(schema.safeParse(change)).toMatchObject({ success: true });
  expect(schema.safeParse({ ...changes[0], state: "done" }).success).toBe(false);
});

test("an interrupted domains watch exits with 1, and the next one continues in the same state", async () => {
  await using server = await startDnsServer(ZONE.replace(`www.example.com CNAME ${TARGET}`, ""));
  const args = watch(server.address, "--state", "state/kept.json", "--json");
  const since = async () => {
    const child = cli.spawn(args, { env });
    const exit = waitForExit(child);
    const output = await waitForOutput(child, /"pending_dns".*\n/);
    child.kill("SIGINT");
    const { status, stderr } = await exit;
    expect([status, stderr]).toEqual([1, "Stopped. The same command continues the watch.\n"]);
    const change = output
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line))
      .find(({ host }) => host === "www.example.com");
    return change.since;
  };
  const first = await since();
  expect(await since()).toBe(first);
});

test.each([
  ["is not one of a watch", "domains.json", "This is not the state of a watch."],
  ["cannot be read", ".", "This is a directory; name a file (EISDIR). Give another path"],
  ["cannot be written", "ca.pem/state.json", "The file cannot be"],
])(
  "domains watch with a state file that %s exits with 2 and leaves it as it is",
  async (_name, path, reason) => {
    const before = readFileSync(join(cli.directory, "domains.json"), "utf8");
    const { status, stdout, stderr } = await cli.run(watch("127.0.0.1:9", "--state", path), { env });
    expect([status, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(reason);
    expect(readFileSync(join(cli.directory, "domains.json"), "utf8")).toBe(before);
  },
);

test("instants that a clock nine years ahead wrote to the state are taken as now, so that a host is overdue in time", () => {
  const path = join(cli.directory, "ahead.json");
  const [at, ahead] = [NOON, NOON + 9 * 365 * 1_440 * MINUTE];
  const times = { since: ahead, verifiedAt: ahead, attemptSince: at - MINUTE, observedAt: ahead };
  const watchedDomains = [{ host: A, state: "certificate_pending", ...times }];
  writeFileSync(path, JSON.stringify({ watchedDomains }));
  const { earlier } = openWatchState(path, at);
  const domain = earlier.get(A) ?? expect.fail();
  expect(domain).toEqual({
    ...{ host: A, state: "certificate_pending", since: at, verifiedAt: at, attemptSince: at - MINUTE },
  });
  expect(domainAt(domain, at + 30 * MINUTE)).toMatchObject({ attention: "certificate_overdue" });
});
