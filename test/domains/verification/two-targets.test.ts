import { expect, test } from "vitest";
import { isWrong } from "../../../lib/domains/status/status.ts";
import { type HostToVerify, verifyHosts } from "../../../lib/domains/status/verify.ts";
import { createDnsResolver } from "../../../lib/node/dns-resolver.ts";
import { type Failure, startDnsServer } from "../../support/dns-server.ts";
import { rowsOf } from "./fixture.ts";

const A = "d-a.platform.example.net";
const B = "d-b.platform.example.net";
const ORDERS = "orders.example.com";
const WWW = "www.example.com";
const RIGHT = `${ORDERS} CNAME ${A} + ${WWW} CNAME ${B}`;
const BASE = `com NS ns.registry.example\nexample.com NS ns1.example.com\n${A} A 198.51.100.1\n${B} A 198.51.100.2\n`;
const FORBIDDING = 'CAA 0 issue "letsencrypt.org"';

const CHAINED = `${ORDERS} CNAME ${A} + ${WWW} CNAME ${ORDERS}`;
/** The records, whose lookup fails, and of both hosts: the state, `wrong` if its records are, and the codes of the reasons. */
const CASES = rowsOf(`
  have each other's target | ${ORDERS} CNAME ${B} + ${WWW} CNAME ${A} | | pending_dns wrong: wrong_target | pending_dns wrong: wrong_target
  are chained, the redirect to the primary | ${CHAINED} | | verified: | pending_dns wrong: wrong_target
  differ in the CAA records of their targets | ${RIGHT} + ${B} ${FORBIDDING} | | verified: | needs_attention: caa_forbids
  have a target each, of which the second fails | ${RIGHT} | ${B} | verified: | unknown: dns_unanswered caa_unanswered
`);

test.each(CASES)(
  "two hosts with two targets that %s are reported each by itself",
  async (_name, zone = "", failing = "", ...expected) => {
    const failures: Readonly<Record<string, Failure>> = failing === "" ? {} : { [failing]: "SERVFAIL" };
    await using server = await startDnsServer(BASE + zone, failures);
    const resolver = createDnsResolver({ servers: [server.address], timeoutMs: 20_000, maxAttempts: 1 });
    const hosts: readonly HostToVerify[] = [
      { host: ORDERS, role: "primary", target: A },
      { host: WWW, role: "redirect", target: B },
    ];
    const reports = await verifyHosts(hosts, { resolver });
    const found = reports.map((report) =>
      [`${report.state}${isWrong(report) ? " wrong" : ""}:`, ...report.reasons.map(({ code }) => code)].join(
        " ",
      ),
    );
    expect(found).toEqual(expected);
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
