import { expect, test } from "vitest";
import { InvalidInputError } from "../../lib/core/errors.ts";
import { memoizeResolver, type RecordType } from "../../lib/domains/verification/resolver.ts";
import { createDnsResolver } from "../../lib/node/dns-resolver.ts";
import { startDnsServer } from "../support/dns-server.ts";
import { type Respond, startRawDnsServer } from "../support/raw-dns-server.ts";

const ZONE = `
example.com NS NS1.Example.com
example.com A 192.0.2.1
example.com AAAA 2001:db8::1
example.com CAA 0 issue "amazon.com; account=1"
example.com CAA 128 TBS "x"
www.example.com CNAME Target.Example.NET
`;

const CAA = [
  { flags: 0, tag: "issue", value: "amazon.com; account=1" },
  { flags: 128, tag: "TBS", value: "x" },
];

test.each<[RecordType, string, unknown]>([
  ["A", "example.com", { outcome: "found", records: ["192.0.2.1"], direct: true }],
  ["AAAA", "example.com", { outcome: "found", records: ["2001:db8::1"], direct: true }],
  ["NS", "example.com", { outcome: "found", records: ["ns1.example.com"] }],
  ["CNAME", "www.example.com", { outcome: "found", records: ["target.example.net"] }],
  ["CAA", "example.com", { outcome: "found", records: CAA }],
  ["CNAME", "example.com", { outcome: "nodata", zone: "example.com" }],
  ["CAA", "missing.example.com", { outcome: "nxdomain", zone: "example.com" }],
])("a query for %s of %s returns %j", async (type, name, expected) => {
  await using server = await startDnsServer(ZONE);
  const resolver = createDnsResolver({ servers: [server.address], maxAttempts: 1 });
  expect(await resolver(name, type)).toEqual(expected);
});

test("an answer says whether the addresses are the name's own or behind its CNAME", async () => {
  await using server =
    await startDnsServer(`${ZONE}\ntarget.example.net A 192.0.2.7\nboth.example.com A 192.0.2.8
    both.example.com CNAME target.example.net`);
  const resolver = createDnsResolver({ servers: [server.address] });
  const found = { outcome: "found", records: ["192.0.2.7"], direct: false };
  expect(await resolver("WWW.example.com", "A")).toEqual(found);
  expect(await resolver("both.example.com", "A")).toMatchObject({ direct: true });
});

test("a server to which no packet can be sent is unreachable, and does not end the process", async () => {
  const resolver = createDnsResolver({ servers: ["255.255.255.255"] });
  expect(await resolver("example.com", "A")).toEqual({ outcome: "failed", reason: "unreachable" });
});

test("a query without a response is sent maxAttempts times", async () => {
  await using server = await startDnsServer("", { "example.com": "timeout" });
  const resolver = createDnsResolver({ servers: [server.address], timeoutMs: 40, maxAttempts: 3 });
  await resolver("example.com", "A");
  expect(server.queries).toEqual(["A example.com", "A example.com", "A example.com"]);
});

test.each(["localhost:53", "1.1.1.1:port", "1.1.1.1:65536", "", "1.1.1", "[::1", "2606:4700::1111:x"])(
  "the server %j is rejected because it is not an IP address",
  (server) => {
    expect(() => createDnsResolver({ servers: [server] })).toThrow(InvalidInputError);
  },
);

test.each(["timeoutMs", "maxAttempts"])("a %s that no timer takes is rejected", (name) => {
  for (const limit of [0, Infinity, 2 ** 31])
    expect(() => createDnsResolver({ [name]: limit })).toThrow(`${name}: Use a whole number from 1 to`);
});

test("an empty list of servers is rejected, because every lookup would fail", () => {
  expect(() => createDnsResolver({ servers: [] })).toThrow(/^servers: The list is empty. Leave it out/);
});

test("names are queried as given, without a search list", async () => {
  await using server = await startDnsServer("");
  const resolver = createDnsResolver({ servers: [server.address], maxAttempts: 1 });
  await resolver("www.example.com", "CNAME");
  await resolver("com", "CAA");
  expect(server.queries).toEqual(["CNAME www.example.com", "CAA com"]);
});

const CAA_SHAPES: readonly (readonly [flags: number, tag: string, value: string])[] = [
  [0, "issue", ""],
  [0, "iodef", ""],
  [0, "issue", ";"],
  [0, "issue", "amazon.com; accounturi=https://example.com/1; validationmethods=dns-01"],
  [0, "issuewild", ""],
  [128, "issue", "amazon.com"],
  [128, "unknown", ""],
  [1, "contactemail", "hostmaster@example.com"],
  [0, "ISSUE", "\u00e9"],
  [255, "a", "x".repeat(400)],
];

const caa: Respond = ({ name }) => {
  const [flags = 0, tag = "", value = ""] = CAA_SHAPES[Number(name.split(".")[0])] ?? [];
  return { answers: [{ type: "CAA", name, ttl: 5, data: { flags, tag: tag as "issue", value } }] };
};

test.each(CAA_SHAPES.map((shape, index) => [shape, index] as const))(
  "the CAA record %j is read, and disturbs no other query at the same time",
  async (shape, index) => {
    await using server = await startRawDnsServer((question, transport) =>
      question.type === "CAA"
        ? caa(question, transport)
        : { answers: [{ type: "A", name: question.name, ttl: 5, data: "192.0.2.1" }] },
    );
    const resolver = createDnsResolver({ servers: [server.address], maxAttempts: 1 });
    const others = Array.from({ length: 50 }, (_, other) => resolver(`h${other}.example.com`, "A"));
    const [flags, tag, value] = shape;
    const found = { outcome: "found", records: [{ flags, tag, value }] };
    expect(await resolver(`${index}.example.com`, "CAA")).toEqual(found);
    for (const other of others) expect(await other).toMatchObject({ records: ["192.0.2.1"] });
  },
);

test("a truncated answer is asked for over TCP, with EDNS in both", async () => {
  const records = Array.from({ length: 2000 }, (_, index) => `192.0.${index >> 8}.${index & 255}`);
  const seen: string[] = [];
  await using server = await startRawDnsServer(({ name }, { tcp, udpPayloadSize }) => {
    seen.push(`${tcp ? "TCP" : "UDP"} ${udpPayloadSize}`);
    const answers = records.map((data) => ({ type: "A" as const, name, ttl: 5, data }));
    return tcp ? { answers } : { flags: 1 << 9, answers: answers.slice(0, 3) };
  });
  const resolver = createDnsResolver({ servers: [server.address] });
  expect(await resolver("example.com", "A")).toMatchObject({ records });
  expect(seen).toEqual(["UDP 1232", "TCP 1232"]);
});

test.each<[string, Respond, string]>([
  ["SERVFAIL", () => ({ flags: 2 }), "servfail"],
  ["REFUSED", () => ({ flags: 5 }), "refused"],
  ["FORMERR", () => ({ flags: 1, questions: [] }), "malformed"],
  ["no response", () => undefined, "timeout"],
  ["a response to another question", () => ({ questions: [{ type: "A", name: "other.org" }] }), "timeout"],
  ["a response with another id", () => ({ id: 1 }), "timeout"],
  ["a message that ends in the middle", () => "truncated", "malformed"],
])("after %s from the first server, the second one is asked", async (_, respond, reason) => {
  const right: Respond = ({ name }) => ({ answers: [{ type: "A", name, ttl: 5, data: "192.0.2.1" }] });
  await using first = await startRawDnsServer(respond);
  await using second = await startRawDnsServer(right);
  const limits = { timeoutMs: 150, maxAttempts: 1 };
  const both = createDnsResolver({ servers: [first.address, second.address], ...limits });
  expect(await both("example.com", "A")).toMatchObject({ records: ["192.0.2.1"] });
  const alone = createDnsResolver({ servers: [first.address], ...limits });
  expect(await alone("example.com", "A")).toEqual({ outcome: "failed", reason });
});

test("a failure is not remembered", async () => {
  let fails = true;
  await using server = await startRawDnsServer(({ name }) =>
    fails ? { flags: 2 } : { answers: [{ type: "A", name, ttl: 5, data: "192.0.2.1" }] },
  );
  const resolver = memoizeResolver(createDnsResolver({ servers: [server.address], maxAttempts: 1 }));
  expect(await resolver("example.com", "A")).toEqual({ outcome: "failed", reason: "servfail" });
  fails = false;
  expect(await resolver("example.com", "A")).toMatchObject({ outcome: "found" });
});

test("SOA, DS and the zone of a negative answer are read, with how long it may be remembered", async () => {
  const soa = (name: string, minimum: number) => {
    const data = { mname: "NS1.example.net", rname: "hostmaster.example.net", minimum };
    return { type: "SOA" as const, name, ttl: 300, data };
  };
  await using server = await startRawDnsServer(({ name, type }) => {
    if (type === "DS") {
      const data = { keyTag: 7, algorithm: 13, digestType: 2, digest: Buffer.alloc(32) };
      return { answers: [{ type: "DS", name, ttl: 5, data }] };
    }
    if (name === "Example.com") return { answers: [soa("example.com", 60)] };
    // The zone of an alias is not the zone of its target.
    if (name === "alias.example.com")
      return {
        answers: [{ type: "CNAME", name, ttl: 5, data: "x.example.net" }],
        authorities: [soa("example.net", 60)],
      };
    return { flags: name.startsWith("missing") ? 3 : 0, authorities: [soa("EXAMPLE.com", 60)] };
  });
  const resolver = createDnsResolver({ servers: [server.address] });
  expect(await resolver("Example.com", "SOA")).toMatchObject({ records: ["ns1.example.net"] });
  expect(await resolver("example.com", "DS")).toMatchObject({ records: [{ keyTag: 7, algorithm: 13 }] });
  expect(await resolver("missing.example.com", "SOA")).toEqual({ outcome: "nxdomain", zone: "example.com" });
  expect(await resolver("www.example.com", "SOA")).toMatchObject({ outcome: "nodata", zone: "example.com" });
  expect(await resolver("alias.example.com", "SOA")).toEqual({ outcome: "nodata" });
});

test("a name server is asked without recursion, and only what it says about its own zones counts", async () => {
  const AA = 1 << 10;
  await using server = await startRawDnsServer(({ name, type }, { recursive }) => {
    expect(recursive).toBe(false);
    const ns = { type: "NS" as const, name: "sub.example.com", ttl: 5, data: "NS1.Example.org" };
    // Everything below a zone cut is a referral.
    if (name.endsWith("sub.example.com")) return { authorities: [ns] };
    if (name === "lame.org") return { flags: 0 };
    return { flags: AA, answers: [{ type: "A", name, ttl: 5, data: `192.0.2.${type.length}` }] };
  });
  const [address = "", port = ""] = server.address.split(":");
  const resolver = createDnsResolver({ nameServerPort: Number(port) }).at?.([address]);
  expect(await resolver?.("example.com", "A")).toMatchObject({ outcome: "found" });
  expect(await resolver?.("sub.example.com", "NS")).toMatchObject({ records: ["ns1.example.org"] });
  const lame = { outcome: "failed", reason: "not_authoritative" };
  expect(await resolver?.("www.sub.example.com", "A")).toEqual(lame);
  expect(await resolver?.("www.sub.example.com", "NS")).toEqual(lame);
  expect(await resolver?.("lame.org", "SOA")).toEqual(lame);
});

test("a name that is too long for DNS, or has an empty label, does not exist, and is not queried", async () => {
  await using server = await startRawDnsServer(() => ({}));
  const resolver = createDnsResolver({ servers: [server.address] });
  const long = `${"a".repeat(63)}.`.repeat(4);
  for (const name of [`${long}com`, `${"a".repeat(64)}.com`, ".example.com", "a..example.com"])
    expect(await resolver(name, "A")).toEqual({ outcome: "nxdomain" });
  expect(server.queries).toBe(0);
});
