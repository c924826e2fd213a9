import { describe, expect, test } from "vitest";
import { addHost, nextStatus } from "../../../lib/domains/status/status.ts";
import { verifyHost } from "../../../lib/domains/status/verify.ts";
import { createDnsResolver } from "../../../lib/node/dns-resolver.ts";
import { type Failure, startDnsServer } from "../../support/dns-server.ts";
import { CORRECT, HOST, TARGET, verify } from "./fixture.ts";

describe("verification of the zone", () => {
  test("a zone that does not exist is reported as not delegated, together with the missing record", async () => {
    const { state, dns, reasons } = await verify("www.unregistered.com", "");
    expect({ state, dns }).toEqual({ state: "pending_dns", dns: "not_delegated" });
    expect(reasons).toMatchObject([
      {
        code: "zone_not_delegated",
        name: "unregistered.com",
        found: "NXDOMAIN: unregistered.com does not exist in DNS",
        fix: "Check that unregistered.com is registered and has not expired, and enter its DNS provider's name servers at the registrar.",
      },
      { code: "record_missing", name: "www.unregistered.com" },
    ]);
  });

  test("a zone whose servers fail while its parent answers is lame", async () => {
    const { reasons, ...verification } = await verify(HOST, "", { "example.com": "SERVFAIL" });
    expect(verification).toEqual({
      host: HOST,
      state: "pending_dns",
      dns: "lame",
      certificate: "unknown",
      notes: [],
    });
    expect(reasons[0]).toMatchObject({
      code: "zone_lame",
      name: "example.com",
      found: "SERVFAIL for example.com, while com answers",
    });
  });

  test("a zone that does not exist is reported as not delegated even if the lookup of its host fails", async () => {
    const host = "www.unregistered.com";
    const { state, dns, reasons } = await verify(host, "", { [`CNAME ${host}`]: "SERVFAIL" });
    expect({ state, dns }).toEqual({ state: "pending_dns", dns: "not_delegated" });
    expect(reasons[0]).toEqual({
      code: "zone_not_delegated",
      host,
      name: "unregistered.com",
      found: "NXDOMAIN: unregistered.com does not exist in DNS",
      expected: "name servers for unregistered.com",
      fix: "Check that unregistered.com is registered and has not expired, and enter its DNS provider's name servers at the registrar.",
    });
  });

  test("a given zone takes the place of the one in DNS", async () => {
    const zone = "www.eu.example.com A 192.0.2.1";
    const { reasons } = await verify("www.eu.example.com", zone, {}, { zone: "eu.example.com" });
    expect(reasons[0]?.fix).toContain(
      "At the DNS provider of eu.example.com, remove the A record of www (192.0.2.1),",
    );
  });
});

describe("a failed lookup", () => {
  test.each<[string, Record<string, Failure>, string]>([
    ["SERVFAIL for the host alone", { [HOST]: "SERVFAIL" }, "SERVFAIL"],
    ["SERVFAIL for everything", { com: "SERVFAIL", net: "SERVFAIL" }, "SERVFAIL"],
    ["a timeout", { "example.com": "timeout" }, "no response in time"],
    ["REFUSED", { "example.com": "REFUSED" }, "REFUSED"],
    ["a server that does not support the query", { "example.com": "NOTIMP" }, "REFUSED"],
  ])("the host is unknown after %s", async (_, failures, words) => {
    const verification = await verify(HOST, CORRECT, failures);
    expect(verification).toMatchObject({ state: "unknown", dns: "unknown", certificate: "unknown" });
    // If only the host fails, its zone is known.
    expect(verification.notes).toHaveLength(HOST in failures ? 0 : 1);
    expect(verification.reasons).toMatchObject([
      { code: "dns_unanswered", name: HOST, found: `${HOST}: ${words}` },
      { code: "caa_unanswered", name: HOST, found: `${HOST} CAA: ${words}` },
    ]);
  });

  test.each<[string, Record<string, Failure>, string]>([
    ["SERVFAIL for the platform host", { [TARGET]: "SERVFAIL" }, `${TARGET} SERVFAIL`],
    ["REFUSED for the host", { [HOST]: "REFUSED" }, `${HOST} REFUSED`],
  ])("the host is unknown after %s, and nothing else is", async (_, failures, expected) => {
    const { dns, certificate, reasons } = await verify(HOST, CORRECT, failures);
    expect({ dns, certificate }).toEqual({ dns: "unknown", certificate: "unknown" });
    const [name, failure] = expected.split(" ");
    expect(reasons.map(({ code, found }) => [code, found])).toEqual([
      ["dns_unanswered", `${name}: ${failure}`],
      ["caa_unanswered", `${name} CAA: ${failure}`],
    ]);
  });

  test("the host is unknown if a resolver that answers for the zone's parent refuses the platform host", async () => {
    const { dns, certificate, reasons } = await verify(HOST, CORRECT, { [TARGET]: "REFUSED" });
    expect({ dns, certificate }).toEqual({ dns: "unknown", certificate: "unknown" });
    expect(reasons).toMatchObject([
      {
        code: "dns_unanswered",
        host: HOST,
        name: TARGET,
        found: `${TARGET}: REFUSED`,
        expected: `CNAME ${TARGET}`,
        fix: "Retry, or use another resolver. If it keeps failing, check the name servers of example.net.",
      },
      { code: "caa_unanswered", name: TARGET },
    ]);
  });

  test("the host is unknown if there is no server at the address", async () => {
    const server = await startDnsServer("");
    await server[Symbol.asyncDispose]();
    const resolver = createDnsResolver({ servers: [server.address], timeoutMs: 60, maxAttempts: 1 });
    const verification = await verifyHost(HOST, { resolver, target: TARGET });
    expect(verification.state).toBe("unknown");
    expect(verification.reasons[0]?.found).toMatch(
      /no DNS server at the resolver's address|no response in time/,
    );
  });

  test("a failed lookup takes no live domain down, but a wrong record does", async () => {
    const live = { ...addHost(HOST, 0), state: "live" } as const;
    const stateAfter = async (zone: string, failures: Record<string, Failure> = {}) => {
      return nextStatus(live, await verify(HOST, zone, failures), 1).state;
    };
    expect(await stateAfter(CORRECT, { "example.com": "timeout" })).toBe("live");
    expect(await stateAfter(CORRECT, { "example.com": "SERVFAIL" })).toBe("live");
    expect(await stateAfter(CORRECT)).toBe("live");
    expect(await stateAfter(`${HOST} CNAME old.hosting.example.net`)).toBe("needs_attention");
    expect(await stateAfter("")).toBe("needs_attention");
    expect(await stateAfter(`${CORRECT}\n${HOST} CAA 0 issue "letsencrypt.org"`)).toBe("live");
  });
});
