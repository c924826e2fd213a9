import { expect, test } from "vitest";
import type { RecordType } from "../../lib/domains/verification/resolver.ts";
import { InvalidInputError } from "../../lib/errors.ts";
import { createDnsResolver } from "../../lib/node/dns-resolver.ts";
import { startDnsServer } from "../support/dns-server.ts";

const ZONE = `
example.com NS NS1.Example.com
example.com A 192.0.2.1
example.com AAAA 2001:db8::1
example.com CAA 0 issue "amazon.com; account=1"
example.com CAA 128 TBS "x"
www.example.com CNAME Target.Example.NET
`;

test.each<[RecordType, string, unknown]>([
  ["A", "example.com", { outcome: "found", records: ["192.0.2.1"], direct: true }],
  ["AAAA", "example.com", { outcome: "found", records: ["2001:db8::1"], direct: true }],
  ["NS", "example.com", { outcome: "found", records: ["ns1.example.com"] }],
  ["CNAME", "www.example.com", { outcome: "found", records: ["target.example.net"] }],
  [
    "CAA",
    "example.com",
    {
      outcome: "found",
      records: [
        { flags: 0, tag: "issue", value: "amazon.com; account=1" },
        { flags: 128, tag: "TBS", value: "x" },
      ],
    },
  ],
  ["CNAME", "example.com", { outcome: "nodata" }],
  ["CAA", "missing.example.com", { outcome: "nxdomain" }],
  ["A", "fails.example.com", { outcome: "failed", reason: "servfail" }],
  ["A", "refuses.example.com", { outcome: "failed", reason: "refused" }],
  ["A", "sleeps.example.com", { outcome: "failed", reason: "timeout" }],
])("a query for %s of %s returns %j", async (type, name, expected) => {
  await using server = await startDnsServer(ZONE, {
    "fails.example.com": "SERVFAIL",
    "refuses.example.com": "REFUSED",
    "sleeps.example.com": "timeout",
  });
  const resolver = createDnsResolver({
    servers: [server.address],
    timeoutMs: name.startsWith("sleeps") ? 60 : 2000,
    maxAttempts: 1,
  });
  expect(await resolver(name, type)).toEqual(expected);
});

test("an answer says whether the addresses are the name's own or behind its CNAME", async () => {
  await using server =
    await startDnsServer(`${ZONE}\ntarget.example.net A 192.0.2.7\nboth.example.com A 192.0.2.8
    both.example.com CNAME target.example.net`);
  const resolver = createDnsResolver({ servers: [server.address] });
  expect(await resolver("WWW.example.com", "A")).toEqual({
    outcome: "found",
    records: ["192.0.2.7"],
    direct: false,
  });
  expect(await resolver("both.example.com", "A")).toMatchObject({ direct: true });
});

test("a query without a response is sent maxAttempts times", async () => {
  await using server = await startDnsServer("", { "example.com": "timeout" });
  const resolver = createDnsResolver({ servers: [server.address], timeoutMs: 40, maxAttempts: 3 });
  await resolver("example.com", "A");
  expect(server.queries).toEqual(["A example.com", "A example.com", "A example.com"]);
});

test.each(["localhost:53", "1.1.1.1:port", "", "1.1.1"])(
  "the server %j is rejected because it is not an IP address",
  (server) => {
    expect(() => createDnsResolver({ servers: [server] })).toThrow(InvalidInputError);
  },
);

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
