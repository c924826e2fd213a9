import { describe, expect, test } from "vitest";
import { verifyHost, verifyHosts } from "../../../lib/domains/status/verify.ts";
import type { DnsAnswer, DnsResolver, RecordType } from "../../../lib/domains/verification/resolver.ts";

const HOST = "orders.example.com";
const TARGET = "d-1.platform.example.net";

type Answers = Readonly<Record<string, DnsAnswer>>;

const found = (...records: readonly unknown[]) => ({ outcome: "found", records }) as DnsAnswer;
const failed = (reason: "servfail" | "timeout"): DnsAnswer => ({ outcome: "failed", reason });

/** A resolver with these answers. `own` are those of the name servers at each address. */
function createResolver(answers: Answers, own?: Readonly<Record<string, Answers>>): DnsResolver {
  const exists = (name: string) => Object.keys(answers).some((query) => query.startsWith(`${name} `));
  const resolve = (async (name: string, type: RecordType) =>
    answers[`${name} ${type}`] ?? {
      outcome: exists(name) ? "nodata" : "nxdomain",
    }) as unknown as DnsResolver;
  if (own === undefined) return resolve;
  const at = (addresses: readonly string[]) =>
    createResolver(addresses.map((address) => own[address]).find((known) => known !== undefined) ?? {});
  return Object.assign(resolve, { at });
}

const ZONE: Answers = {
  "com SOA": found("ns.registry.example"),
  "example.com SOA": found("ns1.example.com"),
  "example.com NS": found("ns1.example.com"),
  "ns1.example.com A": found("192.0.2.53"),
  [`${TARGET} A`]: found("198.51.100.7"),
};
const RIGHT: Answers = { [`${HOST} CNAME`]: found(TARGET) };
const WRONG: Answers = { [`${HOST} CNAME`]: found("old.example.net") };

const verify = (cached: Answers, own?: Answers, host = HOST) =>
  verifyHost(host, {
    target: TARGET,
    resolver: createResolver({ ...ZONE, ...cached }, own && { "192.0.2.53": { ...ZONE, ...own } }),
  });

test("of a zone with more name servers than any has, thirteen are asked", async () => {
  const servers = Array.from({ length: 40 }, (_, index) => `ns${index}.example.com`);
  const cached = {
    ...WRONG,
    "example.com NS": found(...servers),
    ...Object.fromEntries(servers.map((server, index) => [`${server} A`, found(`192.0.2.${index}`)])),
  };
  const asked: string[] = [];
  const own = createResolver({ ...ZONE, ...RIGHT });
  const at = (addresses: readonly string[]) => {
    asked.push(...addresses);
    return own;
  };
  const resolver = Object.assign(createResolver({ ...ZONE, ...cached }), { at });
  expect(await verifyHost(HOST, { target: TARGET, resolver })).toMatchObject({ state: "pending_dns" });
  expect(new Set(asked).size).toBe(13);
});

test("of a name server with many addresses, two of each family are asked", async () => {
  const addresses = Array.from({ length: 200 }, (_, index) => `192.0.2.${index}`);
  const cached = {
    ...WRONG,
    "ns1.example.com A": found(...addresses),
    "ns1.example.com AAAA": found("2001:db8::1", "2001:db8::2", "2001:db8::3"),
  };
  const asked: (readonly string[])[] = [];
  const at = (addresses: readonly string[]) => {
    asked.push(addresses);
    return createResolver({ ...ZONE, ...RIGHT });
  };
  const resolver = Object.assign(createResolver({ ...ZONE, ...cached }), { at });
  await verifyHost(HOST, { target: TARGET, resolver });
  const two = ["192.0.2.0", "192.0.2.1", "2001:db8::1", "2001:db8::2"];
  expect(new Set(asked.map(String))).toEqual(new Set([String(two)]));
});

test("a name server that does not answer is asked once in a check of many hosts", async () => {
  let asked = 0;
  const at = () =>
    (async () => {
      asked += 1;
      return failed("timeout");
    }) as unknown as DnsResolver;
  const resolver = Object.assign(createResolver({ ...ZONE, ...RIGHT }), { at });
  const hosts = Array.from({ length: 20 }, () => ({ host: HOST, role: "alias" }) as const);
  expect(await verifyHosts(hosts, { resolver, target: TARGET })).toHaveLength(20);
  expect(asked).toBe(1);
});

describe("a resolver that remembers an old answer", () => {
  test("a record that has just been corrected only needs time", async () => {
    const { state, reasons } = await verify(WRONG, RIGHT);
    expect(state).toBe("pending_dns");
    expect(reasons).toEqual([
      {
        code: "answer_outdated",
        host: HOST,
        name: HOST,
        found: "CNAME old.example.net; the name servers of example.com have the record",
        expected: `CNAME ${TARGET}`,
        fix: "Nothing is left to do at the DNS provider. Your resolver remembers the old answer until its TTL has passed.",
      },
    ]);
  });

  test.each<[string, Answers]>([
    ["no record", { [`${HOST} CNAME`]: { outcome: "nxdomain" } }],
    ["an A record", { [`${HOST} A`]: found("192.0.2.1") }],
    ["an AAAA record", { [`${HOST} AAAA`]: found("2001:db8::1") }],
  ])("a resolver that remembers %s is told from the zone, too", async (_, cached) => {
    const { reasons } = await verify(cached, RIGHT);
    expect(reasons).toMatchObject([{ code: "answer_outdated" }]);
  });

  test("it is told from the present answer for each of several hosts", async () => {
    const resolver = createResolver({ ...ZONE, ...WRONG }, { "192.0.2.53": { ...ZONE, ...RIGHT } });
    const [report] = await verifyHosts([{ host: HOST, role: "primary" }], { resolver, target: TARGET });
    expect(report?.reasons).toMatchObject([{ code: "answer_outdated" }]);
  });

  test("a record that has just been broken is reported as the name servers have it now", async () => {
    const { state, reasons, notes } = await verify(RIGHT, WRONG);
    expect(state).toBe("pending_dns");
    expect(reasons).toMatchObject([{ code: "wrong_target", found: "CNAME old.example.net" }]);
    expect(notes).toContain(
      "This is what the name servers of example.com answer now. Your resolver remembers the old answer until its TTL has passed.",
    );
  });

  test("a record that is as wrong at the name servers is reported once, without a note", async () => {
    const { reasons, notes } = await verify(WRONG, WRONG);
    expect([reasons.length, notes]).toEqual([1, []]);
  });
});

test("an apex is read at its name servers, whose addresses decide", async () => {
  const apex = (address: string) => ({ "example.com A": found(address) });
  for (const remembered of ["198.51.100.7", "192.0.2.1"]) {
    expect(await verify(apex(remembered), apex("192.0.2.2"), "example.com")).toMatchObject({
      dns: "wrong_target",
      reasons: [{ found: "A 192.0.2.2" }],
      notes: [expect.stringContaining("the name servers of example.com answer now")],
    });
  }
});

describe("the resolver's answer counts", () => {
  test("if the name servers have the record, but the platform host cannot be looked up", async () => {
    const { dns, reasons, notes } = await verify({ ...WRONG, [`${TARGET} A`]: failed("timeout") }, RIGHT);
    expect({ dns, notes }).toEqual({ dns: "wrong_target", notes: [] });
    expect(reasons[0]).toMatchObject({ found: "CNAME old.example.net" });
  });

  test.each([
    ["the name servers cannot be queried", undefined],
    ["the name servers do not know the zone", { "example.com SOA": { outcome: "nodata" } as const }],
    ["the name servers do not answer for the zone", { "example.com SOA": failed("timeout") }],
    ["the name servers do not answer for the host", { [`${HOST} CNAME`]: failed("timeout") }],
  ])("if %s", async (_why, own) => {
    expect(await verify(RIGHT, own)).toMatchObject({ state: "verified", reasons: [] });
    expect(await verify(WRONG, own)).toMatchObject({ state: "pending_dns", dns: "wrong_target" });
  });
});

describe("a zone whose name servers fail", () => {
  const LAME: Answers = {
    "com NS": found("ns.registry.example"),
    "ns.registry.example A": found("192.0.2.1"),
    "example.com SOA": failed("servfail"),
    "example.com NS": failed("servfail"),
    [`${HOST} SOA`]: failed("servfail"),
    [`${HOST} CNAME`]: failed("servfail"),
    "ns1.example.com A": found("192.0.2.53"),
    "ns3.example.com AAAA": found("2001:db8::53"),
  };

  const FIND =
    "Find the name servers that the DNS provider of example.com shows, and enter those at the registrar.";
  const SAME = "If it shows the same, the zone may be missing or suspended there.";

  test("each is named with its failure, also one without an address, but not one that answers", async () => {
    const resolver = createResolver(
      { "com SOA": found("ns.registry.example"), ...LAME },
      {
        "192.0.2.1": {
          "com SOA": found("ns.registry.example"),
          "example.com NS": found("ns1.example.com", "ns2.example.com", "ns3.example.com"),
        },
        "192.0.2.53": { "example.com SOA": failed("timeout") },
        "2001:db8::53": { "example.com SOA": found("ns3.example.com") },
      },
    );
    const { dns, reasons, notes } = await verifyHost(HOST, { resolver, target: TARGET });
    expect({ dns, notes }).toEqual({ dns: "lame", notes: [] });
    expect(reasons[0]).toEqual({
      code: "zone_lame",
      host: HOST,
      name: "example.com",
      found:
        "SERVFAIL for example.com, while com answers; ns1.example.com: no response in time; ns2.example.com has no address",
      expected: "an answer from the name servers of example.com",
      fix: `DNS delegates example.com to ns1.example.com, ns2.example.com, ns3.example.com. ${FIND} ${SAME}`,
    });
  });

  test.each([
    [
      failed("timeout"),
      `${SAME} The parent has DS records of example.com (DNSSEC): they must match its keys.`,
    ],
    [
      found("ns1.example.com"),
      "The name servers answer, so it is probably DNSSEC: the DS records of example.com at its parent must match its keys; remove them if the zone is not signed.",
    ],
  ])("has the keys of DNSSEC named if its parent knows them (%j)", async (answer, expected) => {
    const parent = { "com SOA": found("ns.registry.example"), "example.com NS": found("ns1.example.com") };
    const resolver = createResolver(
      { ...LAME, "com SOA": found("ns.registry.example"), "example.com DS": found("257 3 13") },
      { "192.0.2.1": parent, "192.0.2.53": { "example.com SOA": answer } },
    );
    const { dns, reasons } = await verifyHost(HOST, { resolver, target: TARGET });
    expect(dns).toBe("lame");
    expect(reasons[0]?.fix).toBe(`DNS delegates example.com to ns1.example.com. ${FIND} ${expected}`);
  });

  test("has the keys of DNSSEC named also if its name servers are not known", async () => {
    const resolver = createResolver({ ...LAME, "com SOA": found("ns"), "example.com DS": found("257 3 13") });
    const { reasons } = await verifyHost(HOST, { resolver, target: TARGET });
    expect(reasons[0]).toMatchObject({
      found: "SERVFAIL for example.com, while com answers",
      fix: `DNS delegates example.com. ${FIND} The parent has DS records of example.com (DNSSEC): they must match its keys.`,
    });
  });

  test("is not blamed if only the lookup of its name servers times out", async () => {
    const resolver = createResolver({ ...LAME, "example.com NS": failed("timeout") });
    const { dns, reasons } = await verifyHost(HOST, { resolver, target: TARGET });
    expect(dns).toBe("unknown");
    expect(reasons[0]).toMatchObject({ code: "dns_unanswered", found: `${HOST}: SERVFAIL` });
  });

  test("is not blamed while its parent fails too: then it may be the resolver", async () => {
    const resolver = createResolver({ ...LAME, "com SOA": failed("servfail"), "com NS": failed("servfail") });
    const { dns, reasons, notes } = await verifyHost(HOST, { resolver, target: TARGET });
    expect(dns).toBe("unknown");
    expect(notes.join()).toContain("DNS did not say which zone this is");
    expect(reasons.map(({ code }) => code)).not.toContain("zone_lame");
  });
});

test("a zone below that fails is named, and not the zone above it that delegates to it", async () => {
  const host = "www.sub.example.com";
  const resolver = createResolver(
    {
      ...ZONE,
      "sub.example.com SOA": failed("servfail"),
      "sub.example.com NS": failed("servfail"),
      [`${host} SOA`]: failed("servfail"),
      [`${host} CNAME`]: failed("servfail"),
    },
    { "192.0.2.53": { ...ZONE, "sub.example.com NS": found("ns.sub.example.com") } },
  );
  const { reasons } = await verifyHost(host, { resolver, target: TARGET });
  expect(reasons[0]).toMatchObject({
    code: "zone_lame",
    name: "sub.example.com",
    fix: "DNS delegates sub.example.com to ns.sub.example.com. Find the name servers that the DNS provider of sub.example.com shows, and set those as the NS records of sub.example.com in the zone above. If it shows the same, the zone may be missing or suspended there.",
  });
});

test("a zone below that does not answer in time is not taken for one that fails", async () => {
  const host = "www.sub.example.com";
  const resolver = createResolver(
    { ...ZONE, "sub.example.com SOA": failed("timeout"), [`${host} SOA`]: failed("timeout") },
    { "192.0.2.53": { ...ZONE, "sub.example.com NS": found("ns.sub.example.com") } },
  );
  const { reasons } = await verifyHost(host, { resolver, target: TARGET });
  expect(reasons[0]?.fix).toMatch(/^At the DNS provider of example\.com, /);
});

test("a host of which only the AAAA records cannot be looked up is unknown, not missing", async () => {
  const answers = { [`${HOST} A`]: { outcome: "nodata" } as const, [`${HOST} AAAA`]: failed("timeout") };
  const { state, reasons } = await verify(answers);
  expect(state).toBe("unknown");
  expect(reasons).toMatchObject([{ code: "dns_unanswered" }]);
});

test("the zone of an alias is that of its name, not that of its target", async () => {
  const soa = { [`${HOST} SOA`]: { outcome: "nodata", zone: "old.example.net" } as const };
  const { reasons } = await verify({ ...WRONG, ...soa });
  expect(reasons[0]?.fix).toMatch(/^At the DNS provider of example.com, /);
});

test("a missing record is described, with the name servers that DNS asks if it names any", async () => {
  const add = `At the DNS provider of example.com, add the CNAME record: name orders, value ${TARGET}, TTL 3600.`;
  const fixOf = async (answers: Answers) => {
    const { reasons } = await verifyHost(HOST, { target: TARGET, resolver: createResolver(answers) });
    return reasons[0]?.fix;
  };
  const { "example.com NS": _none, ...withoutNameServers } = ZONE;
  expect(await fixOf(withoutNameServers)).toBe(add);
  expect(await fixOf(ZONE)).toMatch(`${add} DNS asks ns1.example.com for example.com`);
});
