import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { useCommandLine } from "../../support/command-line.ts";
import { startDnsServer } from "../../support/dns-server.ts";
import { DOMAINS_FILE, TARGET } from "./domains-fixture.ts";

const cli = useCommandLine();

writeFileSync(join(cli.directory, "domains.yaml"), DOMAINS_FILE);

test("domains records reads YAML and JSON, and prints a table or JSON", async () => {
  const asJson = { domains: { primary: "orders.example.com", aliases: ["example.com"] } };
  writeFileSync(join(cli.directory, "domains.json"), JSON.stringify(asJson));
  const { status, stdout } = await cli.run(["domains", "records", "domains.yaml", "--target", TARGET]);
  expect(status).toBe(0);
  expect(stdout).toMatch(
    /^orders\.example\.com +primary +example\.com +CNAME +orders +abc\.platform\.example +3600/m,
  );
  expect(stdout).toMatch(/^www\.orders\.example\.com +redirect +example\.com +CNAME +www\.orders +abc/m);
  const refused = await cli.run(["domains", "records", "domains.yaml", "--target", TARGET, "--plan", "free"]);
  expect(refused).toMatchObject({
    status: 2,
    stderr: expect.stringContaining("Custom domains need the plan"),
  });
  const records = await cli.json("domains", "records", "domains.json", "--target", TARGET);
  expect(records).toMatchObject([
    { host: "orders.example.com", type: "CNAME", name: "orders", value: TARGET, ttl: 3600 },
    { host: "example.com", type: "ALIAS", name: "@", alternatives: ["ANAME", expect.any(String)] },
  ]);
});

test("one machine needs no second name: its addresses stand in place of the target", async () => {
  const lines = ["orders.example.com", "www.orders.example.com"].map((host) => `${host} A 198.51.100.7`);
  await using server = await startDnsServer(`example.com NS ns.example.net\n${lines.join("\n")}`);
  const words = ["domains.yaml", "--address", "198.51.100.7", "--resolver", server.address];
  const right = await cli.run(["domains", "check", ...words]);
  expect(right.stdout).toContain("2 of 2 hosts verified.");
  expect(right.stdout).toContain("note      198.51.100.7 is a documentation address");
  const both = [...words, "--address", "2001:DB8::7"];
  const missing = await cli.run(["domains", "check", ...both]);
  expect([missing.status, missing.stdout]).toEqual([1, expect.stringContaining("add the AAAA record")]);
  const records = await cli.run(["domains", "records", ...both, "--json"]);
  expect(records.stderr).toContain("2001:db8::7 is a documentation address");
  expect(JSON.parse(records.stdout)).toMatchObject([
    { host: "orders.example.com", type: "A", name: "orders", value: "198.51.100.7", alternatives: [] },
    { host: "orders.example.com", type: "AAAA", name: "orders", value: "2001:db8::7" },
    { host: "www.orders.example.com", type: "A", name: "www.orders" },
    { host: "www.orders.example.com", type: "AAAA" },
  ]);
});

test("domains check queries live DNS and exits with 1 until every host is verified", async () => {
  const wrong = `${TARGET} A 192.0.2.1\nexample.com NS ns.example.net\norders.example.com CNAME ${TARGET}\nwww.orders.example.com CNAME old.example.net`;
  const right = wrong.replace("old.example.net", TARGET);
  const check = ["domains", "check", "domains.yaml", "--target", TARGET];

  await using broken = await startDnsServer(wrong);
  const first = await cli.run([...check, "--resolver", broken.address]);
  expect(first.status).toBe(1);
  expect(first.stdout).toContain("✗ www.orders.example.com  pending_dns  (redirect)");
  expect(first.stdout).toContain("found     CNAME old.example.net");
  expect(first.stdout).toContain(`expected  CNAME ${TARGET}`);
  expect(first.stdout).toContain("1 of 2 hosts verified.");
  const json = await cli.run([...check, "--resolver", broken.address, "--json"]);
  expect(JSON.parse(json.stdout)).toMatchObject([
    { host: "orders.example.com", state: "verified", reasons: [] },
    { host: "www.orders.example.com", state: "pending_dns", reasons: [{ code: "wrong_target" }] },
  ]);

  const verbose = await cli.run([...check, "--resolver", broken.address, "--json", "--verbose"]);
  expect(verbose.stdout).toBe(json.stdout);
  const asked = verbose.stderr.split("\n");
  expect(asked).toContain("CNAME www.orders.example.com @127.0.0.1: old.example.net");
  expect(asked).toContain("NS example.com @127.0.0.1: ns.example.net");
  expect(asked).toContain("TXT orders.example.com @127.0.0.1: nodata");

  await using fixed = await startDnsServer(right);
  const second = await cli.run([...check, "--resolver", fixed.address]);
  expect([second.status, second.stdout]).toEqual([0, expect.stringContaining("2 of 2 hosts verified.")]);
});

test("a name in DNS with a line feed begins no line, neither of the report nor of what was asked", async () => {
  const zone = `www.orders.example.com CNAME a\\nforged.example.net\nexample.com NS b\\nforged.example.net`;
  await using server = await startDnsServer(zone);
  const check = ["domains", "check", "domains.yaml", "--target", TARGET, "--resolver", server.address];
  const { stdout, stderr } = await cli.run([...check, "--verbose"]);
  expect(stdout).toContain(String.raw`found     CNAME a\nforged.example.net`);
  expect(stderr).toContain(String.raw`CNAME www.orders.example.com @127.0.0.1: a\nforged.example.net`);
  expect(`${stdout}${stderr}`).not.toMatch(/^forged/m);
});

test.each([
  [
    "no such file",
    ["records", "nowhere.yaml", "--target", TARGET],
    "nowhere.yaml: The file does not exist (ENOENT)",
  ],
  ["no target", ["records", "domains.yaml"], "--target: Give the host"],
  [
    "a stack file that does not exist",
    ["check", "--stack", "nowhere.json"],
    "nowhere.json: The file does not exist (ENOENT)",
  ],
  ["no target to check", ["check", "domains.yaml"], "or for one machine its --address."],
  ["neither a file nor a stack", ["check"], "Give a domains file, or the outputs of a stack with --stack."],
  [
    "both a file and a stack",
    ["check", "domains.yaml", "--stack", "stack.json"],
    "--stack: The outputs contain the hosts and targets.",
  ],
  [
    "a host that has no target",
    ["check", "domains.yaml", "--target", `orders.example.com=${TARGET}`],
    "www.orders.example.com has no target. Add --target www.orders.example.com=VALUE.",
  ],
  [
    "a target of an unknown host",
    ["records", "domains.yaml", "--target", TARGET, "--target", `order.example.com=${TARGET}`],
    `order.example.com=${TARGET}: Write HOST=VALUE, with one of the domains, and each of them once.`,
  ],
  [
    "two common targets",
    ["records", "domains.yaml", "--target", TARGET, "--target", TARGET],
    "one target for all",
  ],
  [
    "an invalid target",
    ["records", "domains.yaml", "--target", "http://a.b"],
    "--target: http://a.b: This is a URL.",
  ],
  [
    "an address as the target",
    ["check", "domains.yaml", "--target", "203.0.113.7"],
    "--target: 203.0.113.7 is an address. For one machine, give it with --address in place of --target.",
  ],
  [
    "a target and an address",
    ["check", "domains.yaml", "--target", TARGET, "--address", "203.0.113.7"],
    "--address: Records either point to the host of a platform or have the addresses of one machine.",
  ],
  ["no address", ["watch", "domains.yaml", "--address", "203.0.113"], "Write an IPv4 or IPv6 address"],
  [
    "an unknown authority",
    ["check", "domains.yaml", "--target", TARGET, "--authority", "me"],
    "Choose one of amazon, letsencrypt, google, zerossl, sectigo, digicert, or give its issuer domain, such as letsencrypt.org.",
  ],
  [
    "an invalid resolver",
    ["check", "domains.yaml", "--target", TARGET, "--resolver", "dns.example"],
    "--resolver: dns.example is not the address of a DNS server.",
  ],
])("domains with %s exits with 2 and the reason", async (_name, words, reason) => {
  const { status, stdout, stderr } = await cli.run(["domains", ...words]);
  expect([status, stdout]).toEqual([2, ""]);
  expect(stderr).toContain(reason);
});

const SHOP = `orders.example.com CNAME ${TARGET}
www.orders.example.com CNAME ${TARGET}
${TARGET} A 192.0.2.1`;

test("domains records finds the zone in DNS, and says if it is a guess or given", async () => {
  await using server = await startDnsServer(`${SHOP}\norders.example.com SOA ns1.example.com`, {
    org: "timeout",
  });
  const records = (...flags: readonly string[]) =>
    cli.run(["domains", "records", "domains.yaml", "--target", TARGET, "--json", ...flags]);
  const found = await records("--resolver", server.address);
  expect(JSON.parse(found.stdout)).toMatchObject([
    { zone: "orders.example.com", zoneSource: "dns", type: "ALIAS", name: "@" },
    { zone: "orders.example.com", zoneSource: "dns", type: "CNAME", name: "www" },
  ]);
  expect(found.stderr).toBe("");
  const given = await records("--resolver", server.address, "--zone", "WWW.orders.example.com.=example.com");
  expect(JSON.parse(given.stdout)[1]).toMatchObject({
    zone: "example.com",
    zoneSource: "given",
    name: "www.orders",
  });
  const guessed = await records("--resolver", "127.0.0.1:1");
  expect(JSON.parse(guessed.stdout)[1]).toMatchObject({
    zone: "example.com",
    zoneSource: "public_suffix_list",
  });
  expect(guessed.stderr).toBe(
    "DNS did not say which zone this is, so example.com is a guess by the public suffix list. If it is another one, name it with --zone HOST=ZONE.\n",
  );
});

test.each([
  ["www.orders.example.com", "www.orders.example.com: Write HOST=VALUE"],
  ["www.orders.example.com=a=b", "www.orders.example.com=a=b: Write HOST=VALUE"],
  [
    "order.example.com=example.com",
    "order.example.com=example.com: Write HOST=VALUE, with one of the domains",
  ],
  ["www.orders.example.com=example.org", "www.orders.example.com is not in the zone example.org"],
])("--zone %s exits with 2 and the reason", async (zone, reason) => {
  for (const command of ["records", "check"]) {
    const words = ["domains", command, "domains.yaml", "--target", TARGET, "--zone", zone];
    const { status, stdout, stderr } = await cli.run(words);
    expect([status, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(reason);
  }
});

test.each([
  [TARGET, [], 'CAA 0 issue "amazon.com"', "CAA records forbid"],
  [TARGET, [], 'CAA 0 issue "letsencrypt.org"', "2 of 2 hosts verified."],
  [TARGET, ["--authority", "amazon"], 'CAA 0 issue "amazon.com"', "2 of 2 hosts verified."],
  [
    TARGET,
    ["--authority", "google", "--authority", "ca.example.net"],
    'CAA 0 issue "ca.example.net"',
    "2 of 2",
  ],
  ["abc.execute-api.eu-central-1.amazonaws.com", [], 'CAA 0 issue "amazon.com"', "2 of 2 hosts verified."],
  ["abc.execute-api.eu-central-1.amazonaws.com", [], 'CAA 0 issue "letsencrypt.org"', "CAA records forbid"],
])("the authority for the target %s with %j and %s", async (target, flags, caa, expected) => {
  await using server = await startDnsServer(`${SHOP.replaceAll(TARGET, target)}\nexample.com ${caa}`);
  const check = ["domains", "check", "domains.yaml", "--target", target, "--resolver", server.address];
  expect((await cli.run([...check, ...flags])).stdout).toContain(expected);
});

test("the advice is for what serves the hosts", async () => {
  await using server = await startDnsServer(SHOP);
  const check = ["domains", "check", "domains.yaml", "--target", TARGET, "--resolver", server.address];
  expect((await cli.run(check)).stdout).toContain("Caddy in front requests the certificate by itself");
});

test("domains schema prints the JSON Schema of a domains file", async () => {
  const { status, stdout } = await cli.run(["domains", "schema"]);
  expect(status).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    $schema: "https://json-schema.org/draft/2020-12/schema",
    required: ["domains"],
    properties: { domains: { properties: { primary: { type: "string" } } } },
  });
});
