import { expect, test } from "vitest";
import { isWrong } from "../../../lib/domains/status/status.ts";
import { type HostToVerify, verifyHosts } from "../../../lib/domains/status/verify.ts";
import { createDnsResolver } from "../../../lib/node/dns-resolver.ts";
import { type Failure, startDnsServer } from "../../support/dns-server.ts";

const A = "d-a.platform.example.net";
const B = "d-b.platform.example.net";
const ORDERS = "orders.example.com";
const WWW = "www.example.com";
const RIGHT = `${ORDERS} CNAME ${A}\n${WWW} CNAME ${B}`;
const BASE = `com NS ns.registry.example\nexample.com NS ns1.example.com\n${A} A 198.51.100.1\n${B} A 198.51.100.2\n`;
const FORBIDDING = 'CAA 0 issue "letsencrypt.org"';

interface Expected {
  readonly states: readonly [string, string];
  readonly wrong: readonly [boolean, boolean];
  /** The codes of the reasons of both hosts. */
  readonly codes: readonly [readonly string[], readonly string[]];
}

const secondWrong = { states: ["verified", "pending_dns"], wrong: [false, true] } as const;
const none: readonly string[] = [];

test.each<[string, string, Readonly<Record<string, Failure>>, Expected]>([
  [
    "have each other's target",
    `${ORDERS} CNAME ${B}\n${WWW} CNAME ${A}`,
    {},
    {
      states: ["pending_dns", "pending_dns"],
      wrong: [true, true],
      codes: [["wrong_target"], ["wrong_target"]],
    },
  ],
  [
    "are chained, the redirect to the primary",
    `${ORDERS} CNAME ${A}\n${WWW} CNAME ${ORDERS}`,
    {},
    { ...secondWrong, codes: [none, ["wrong_target"]] },
  ],
  [
    "differ in the CAA records of their targets",
    `${RIGHT}\n${B} ${FORBIDDING}`,
    {},
    {
      states: ["verified", "needs_attention"],
      wrong: [false, false],
      codes: [none, ["caa_forbids"]],
    },
  ],
  [
    "have a target each, of which the second fails",
    RIGHT,
    { [B]: "SERVFAIL" },
    {
      states: ["verified", "unknown"],
      wrong: [false, false],
      codes: [none, ["dns_unanswered", "caa_unanswered"]],
    },
  ],
])(
  "two hosts with two targets that %s are reported each by itself",
  async (_name, zone, failures, expected) => {
    await using server = await startDnsServer(BASE + zone, failures);
    const resolver = createDnsResolver({ servers: [server.address], timeoutMs: 20_000, maxAttempts: 1 });
    const hosts: readonly HostToVerify[] = [
      { host: ORDERS, role: "primary", target: A },
      { host: WWW, role: "redirect", target: B },
    ];
    const reports = await verifyHosts(hosts, { resolver });
    expect({
      states: reports.map(({ state }) => state),
      wrong: reports.map(isWrong),
      codes: reports.map(({ reasons }) => reasons.map(({ code }) => code)),
    }).toEqual(expected);
    for (const [index, { reasons }] of reports.entries()) {
      const [own = "", other = ""] = index === 0 ? [A, B] : [B, A];
      for (const { code, fix, expected: needed } of reasons.filter((each) => each.code === "wrong_target")) {
        expect([code, needed]).toEqual(["wrong_target", `CNAME ${own}`]);
        expect(fix).toContain(own);
        expect(fix).not.toContain(other);
      }
    }
  },
);
