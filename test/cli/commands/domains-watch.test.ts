import { createSocket } from "node:dgram";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ProcessIo, runProgram } from "../../../lib/cli/program.ts";
import { advanceWatch } from "../../../lib/cli/watch.ts";
import { addHost } from "../../../lib/domains/status/status.ts";
import { type StackStatus, stepsFor } from "../../../lib/domains/status/steps.ts";
import type { HostReport } from "../../../lib/domains/status/verify.ts";
import { createTestAuthority } from "../../support/certificates.ts";
import { createCommandLineHere, waitForExit, waitForOutput } from "../../support/command-line.ts";
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
    const { end, states, lines } = await watchThrough([
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
      `2026-11-20T12:05:00Z ${A} certificate_pending`,
      `2026-11-20T12:05:00Z ${B} pending_dns`,
      `2026-11-20T12:10:00Z ${B} certificate_pending`,
      `2026-11-20T12:12:00Z ${A} live`,
      `2026-11-20T12:39:30Z ${B} live`,
    ]);
    expect(lines[1]).toContain("add the CNAME record: name www, value d-b.platform.example, TTL 3600.");
    expect(lines[1]).toContain("DNS changes may take up to 48 hours to propagate.");
    expect(lines[3]).toContain("change the value of the CNAME record www to d-b.platform.example.");
    expect(lines.at(-1)).toMatch(/ {2}certificate valid until \d{4}-\d\d-\d\d$/);
  });

  test("a name in DNS with a line feed begins no line", async () => {
    const { lines } = await watchThrough([{ at: 0, records: [`${A} CNAME a\\nb.example.net`] }], {
      hosts: only(A),
    });
    expect(lines).toEqual([expect.stringMatching(/ CNAME a\\nb\.example\.net/)]);
  });

  test("a line is printed only for news, and has the time that is left for the certificate", async () => {
    const moments = [0, 5, 12].map((at) => ({ at, records: [A_RIGHT] }));
    const { end, lines } = await watchThrough(moments, { hosts: only(A) });
    expect(end).toBeUndefined();
    expect(lines.map((line) => line.split("  ")[2])).toEqual(["certificate_pending"]);
    expect(lines[0]).toBe(
      `2026-11-20T12:00:00Z  ${A}  certificate_pending  certificate requested; the server presents a certificate for *.platform.example; verified 0 s ago, needs attention in 30 min  The certificate is issued automatically, usually within a couple of minutes.`,
    );
  });
});

describe("a watch of a stack", () => {
  const requested = (minute: number, state: StackStatus["state"] = "certificate_pending") => {
    const since = new Date(NOON + minute * MINUTE).toISOString();
    return only(A).map((host) => ({ ...host, stack: { state, reason: "", next: [], since } }));
  };

  test.each([
    ["20 minutes ago", -20, "needs attention in 10 min"],
    ["by a clock that is ahead", 1_000, "needs attention in 30 min"],
  ])("counts from the request of the certificate, %s", async (_name, minute, left) => {
    const { end, lines } = await watchThrough([{ at: 0, records: [A_RIGHT] }], { hosts: requested(minute) });
    expect([end, lines.length]).toEqual([undefined, 1]);
    expect(lines[0]).toContain(left);
  });

  test("a certificate that was requested 30 minutes ago is overdue, unless it is there", async () => {
    const hosts = requested(-30);
    const overdue = await watchThrough([{ at: 0, records: [A_RIGHT] }], { hosts });
    expect([overdue.end, overdue.last.get(A)?.attention]).toEqual(["needs_attention", "certificate_overdue"]);
    const issued = await watchThrough([{ at: 0, records: [A_RIGHT], issued: [A] }], { hosts });
    expect(issued.lines.map((line) => line.split("  ")[2])).toEqual(["live"]);
  });

  test("while the record is missing, only the 72 hours count from the request", async () => {
    const early = await watchThrough([{ at: 0, records: [] }], { hosts: requested(-31) });
    expect([early.end, early.last.get(A)?.state]).toEqual([undefined, "pending_dns"]);
    const late = await watchThrough([{ at: 0, records: [] }], { hosts: requested(-72 * 60, "pending_dns") });
    expect([late.end, late.last.get(A)?.attention]).toEqual(["needs_attention", "validation_timed_out"]);
  });
});

describe("the hosts of a watch", () => {
  test("after 30 minutes without a certificate the three checks are added, and the watch ends", async () => {
    const { end, last, lines } = await watchThrough(
      [
        { at: 0, records: [A_RIGHT] },
        { at: 29.9, records: [A_RIGHT] },
        { at: 30, records: [A_RIGHT] },
      ],
      { hosts: only(A) },
    );
    expect(end).toBe("needs_attention");
    expect(last.get(A)).toMatchObject({ attention: "certificate_overdue", since: NOON + 30 * MINUTE });
    expect(lines.at(-1)).toMatch(
      / {2}No certificate has been issued 30 minutes after verification\. Check that the domain still verifies: .* Check that CAA records do not block the certificate authority\. Request a new certificate: increase the host's number under 'reverify' in the stack configuration and deploy\.$/,
    );
  });

  test("the three checks are repeated while another host is pending", async () => {
    const forbidding = `${A} CAA 0 issue "letsencrypt.org"`;
    const caa = `d-a.platform.example CAA 0 issue "letsencrypt.org"`;
    const { end, lines, states } = await watchThrough([
      { at: 0, records: [A_RIGHT] },
      { at: 31, records: [A_RIGHT] },
      { at: 32, records: [A_RIGHT, caa] },
      { at: 33, records: [B_RIGHT, forbidding], issued: [B] },
    ]);
    expect(end).toBe("needs_attention");
    expect(states[2]).toEqual([`${A} needs_attention`, `${B} pending_dns`]);
    expect(states[3]).toEqual([`${A} needs_attention`, `${B} live`]);
    expect(lines.at(-2)).toMatch(
      /At the DNS provider of example\.com, add .*add the record CAA 0 issue "amazon.* Check that the domain still verifies/,
    );
  });

  test("a host whose records and certificate come after 72 hours is live, while another one is waited for", async () => {
    const due = 72 * 60;
    const { end, states } = await watchThrough([
      { at: 0, records: [] },
      { at: due - 10, records: [B_RIGHT] },
      { at: due, records: [B_RIGHT] },
      { at: due + 1, records: [A_RIGHT, B_RIGHT], issued: [A] },
      { at: due + 2, records: [A_RIGHT, B_RIGHT], issued: [A, B] },
    ]);
    expect(states.map(([a]) => a).slice(2, 4)).toEqual([`${A} needs_attention`, `${A} live`]);
    expect(end).toBe("live");
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
    const { states, last } = await watchThrough([
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
    expect(last.get(A)).toMatchObject({ attention: "certificate_failed" });
  });

  test("a host without a record needs attention after 72 hours", async () => {
    const hour = 60;
    const { end, last, lines } = await watchThrough(
      [
        { at: 0, records: [] },
        { at: 48 * hour, records: [] },
        { at: 72 * hour, records: [] },
      ],
      { hosts: only(A) },
    );
    expect([end, last.get(A)?.attention]).toEqual(["needs_attention", "validation_timed_out"]);
    expect(lines.at(-1)).toContain("not verified within 72 hours");
  });
});

test.each([
  ["name_servers_disagree", "disagreement", "The name servers of the zone have different records. Fix it."],
  ["validation_record", "ok", "The validation record of the certificate is not set, or not right. Fix it."],
] as const)("a live host with %s stays live, and says what to do: %s, %s", (code, dns, todo) => {
  const reason = { code, host: A, name: A, found: "other", expected: "CNAME", fix: "Fix it." };
  const seen: HostReport = {
    host: A,
    role: "primary",
    state: "pending_dns",
    dns,
    certificate: "allowed",
    reasons: [reason],
    notes: [],
    records: [],
    advice: [],
  };
  const live = { ...addHost(A, NOON), state: "live" } as const;
  const { hosts, end } = advanceWatch([{ status: live, seen, news: "" }], [seen], NOON + MINUTE);
  expect(end).toBe("live");
  expect(hosts.map(({ status }) => status.state)).toEqual(["live"]);
  expect(hosts.map((host) => stepsFor(host, "stack", { isNamed: true }))).toEqual([[todo]]);
});

const cli = createCommandLineHere();
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

/** The environment of a command in its own process. */
const env = { NODE_EXTRA_CA_CERTS: join(cli.directory, "ca.pem") };
const watch = (address: string, ...rest: readonly string[]) => [
  ...["domains", "watch", "domains.json", "--target", TARGET],
  ...["--resolver", address, "--tls-port", `${tls.port}`, ...rest],
];

/** Runs a command in this process, which trusts the authority meanwhile. */
async function runTrusting(...command: Parameters<typeof cli.run>) {
  const known = getCACertificates("default");
  setDefaultCACertificates([...known, authority.cert]);
  try {
    return await cli.run(...command);
  } finally {
    setDefaultCACertificates(known);
  }
}

test("domains watch prints one line per change, and exits with 0 once every host is live", async () => {
  await using server = await startDnsServer(ZONE);
  const { status, stdout, stderr } = await runTrusting(watch(server.address));
  expect([status, stderr]).toEqual([0, ""]);
  const words = stdout
    .trim()
    .split("\n")
    .map((line) => line.split("  ").slice(1, 3).join(" "));
  expect(words).toEqual(["orders.example.com live", "www.example.com live"]);
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
  const { status, stdout } = await runTrusting(
    [
      "domains",
      "watch",
      "--stack",
      "-",
      "--resolver",
      server.address,
      "--tls-port",
      `${others.port}`,
      "--json",
    ],
    { input: JSON.stringify(outputs) },
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
});

/** Runs the watch in this process, where nothing waits for the next observation. */
async function watchHere(address: string, io: Pick<ProcessIo, "wait" | "waitForStop">) {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const argv = watch(address).with(2, join(cli.directory, "domains.json"));
  const status = await runProgram({ argv, env: {}, stdin, stdout, stderr, ...io });
  return { status, stdout: `${stdout.read() ?? ""}`, stderr: `${stderr.read() ?? ""}` };
}

test("a domains watch goes on after each pause, until it is stopped in one", async () => {
  const { promise: stopped, resolve: stop } = Promise.withResolvers<string>();
  await using server = await startDnsServer(ZONE.replace(`www.example.com CNAME ${TARGET}`, ""));
  const pauses = [() => server.update(ZONE), () => stop("SIGINT")];
  const { status, stdout, stderr } = await watchHere(server.address, {
    async wait(ms) {
      expect(ms).toBe(30_000);
      pauses.shift()?.();
    },
    waitForStop: () => stopped,
  });
  expect(stdout.match(/www\.example\.com {2}\w+/g)).toEqual([
    "www.example.com  pending_dns",
    "www.example.com  certificate_pending",
  ]);
  expect([status, stderr]).toEqual([1, "Stopped before every host was live.\n"]);
});

test("a domains watch stops during an observation that does not return", async () => {
  const silent = createSocket("udp4");
  await new Promise<void>((resolve) => silent.bind(0, "127.0.0.1", resolve));
  const result = await watchHere(`127.0.0.1:${silent.address().port}`, {
    wait: () => Promise.reject(new Error("The watch pauses.")),
    waitForStop: () => once(silent, "message").then(() => "SIGINT"),
  });
  silent.close();
  expect(result).toEqual({ status: 1, stdout: "", stderr: "Stopped before every host was live.\n" });
});

test("an interrupted domains watch exits with 1", async () => {
  await using server = await startDnsServer(ZONE.replace(`www.example.com CNAME ${TARGET}`, ""));
  const child = cli.spawn(watch(server.address), { env });
  const exit = waitForExit(child);
  await waitForOutput(child, /www\.example\.com {2}pending_dns.*\n/);
  child.kill("SIGINT");
  expect(await exit).toMatchObject({ status: 1, stderr: "Stopped before every host was live.\n" });
});

test("a domains watch ends when nobody reads its lines any more", async () => {
  await using server = await startDnsServer(ZONE.replace(`www.example.com CNAME ${TARGET}`, ""));
  const child = cli.spawn(watch(server.address), { env });
  const exit = waitForExit(child);
  child.stdout.destroy();
  expect(await exit).toMatchObject({ status: 1, stderr: "Stopped before every host was live.\n" });
});
