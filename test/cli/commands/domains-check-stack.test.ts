import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { useCommandLine } from "../../support/command-line.ts";
import { startDnsServer } from "../../support/dns-server.ts";
import { DOMAINS_FILE, TARGET } from "./domains-fixture.ts";

const cli = useCommandLine();

writeFileSync(join(cli.directory, "domains.yaml"), DOMAINS_FILE);

describe("domains check --stack", () => {
  const outputs = {
    "orders.eu.example.com": {
      role: "primary",
      state: "live",
      record: { type: "CNAME", name: "orders", ttl: 3600, value: TARGET },
    },
    "www.example.com": {
      role: "redirect",
      state: "live",
      record: { type: "CNAME", name: "www", ttl: 3600, value: "b.platform.example" },
    },
  };
  const zone = `orders.eu.example.com CNAME ${TARGET}\n${TARGET} A 192.0.2.1\nb.platform.example A 192.0.2.2`;

  test.each([
    ["the output 'domains'", outputs],
    ["all outputs", { baseUrl: "https://orders.eu.example.com/v1", domains: outputs }],
  ])("each host of %s is verified against its own target", async (_name, content) => {
    await using server = await startDnsServer(`${zone}\nwww.example.com CNAME b.platform.example`);
    const check = ["domains", "check", "--stack", "-", "--resolver", server.address];
    const { status, stdout } = await cli.run(check, { input: JSON.stringify(content) });
    expect([status, stdout]).toEqual([0, expect.stringContaining("2 of 2 hosts verified.")]);
    expect(stdout).toContain("CNAME b.platform.example;");
  });

  test("a host that is live has no next step", async () => {
    await using server = await startDnsServer(zone);
    const stated = { reason: "The record points to the API.", next: [] };
    const live = { "orders.eu.example.com": { ...outputs["orders.eu.example.com"], ...stated } };
    const check = ["domains", "check", "--stack", "-", "--resolver", server.address];
    const { status, stdout } = await cli.run(check, { input: JSON.stringify(live) });
    expect([status, stdout]).toEqual([0, expect.stringMatching(/next +Nothing to do\./)]);
  });

  test("a wrong record is reported with the zone that the stack uses, and the exit status is 1", async () => {
    writeFileSync(join(cli.directory, "stack.json"), JSON.stringify(outputs));
    await using server = await startDnsServer(
      `${zone.replace(`CNAME ${TARGET}`, "CNAME old.example.net")}\neu.example.com SOA ns1.example.com`,
    );
    const { status, stdout } = await cli.run([
      "domains",
      "check",
      "--stack",
      "stack.json",
      "--resolver",
      server.address,
    ]);
    expect(status).toBe(1);
    expect(stdout).toContain(
      `At the DNS provider of eu.example.com, change the value of the CNAME record orders`,
    );
  });

  test("a live host without its validation record is not verified, and each renewal needs it", async () => {
    const name = "_a1.orders";
    const validationRecord = {
      zone: "eu.example.com",
      type: "CNAME",
      name,
      ttl: 3600,
      value: "_b.acm-validations.aws",
    };
    const { "orders.eu.example.com": orders } = outputs;
    const input = JSON.stringify({ "orders.eu.example.com": { ...orders, validationRecord } });
    const soa = "eu.example.com SOA ns1.example.com";
    await using server = await startDnsServer(`${zone}\n${soa}`);
    const check = ["domains", "check", "--stack", "-", "--resolver", server.address];
    const missing = await cli.run(check, { input });
    expect([missing.status, missing.stdout]).toEqual([
      1,
      expect.stringContaining("is not set, or not right."),
    ]);
    expect(missing.stdout).toContain("name _a1.orders, value _b.acm-validations.aws");
    server.update(`${zone}\n${soa}\n_a1.orders.eu.example.com CNAME _b.acm-validations.aws`);
    expect((await cli.run(check, { input })).status).toBe(0);
  });

  test.each([
    ["cloudflare", "in the zone at Cloudflare", "CNAME flattening for all CNAME records"],
    ["route53", "in the hosted zone at Route 53", "Delete other records of this name."],
  ])("a stack with 'dns: %s' sets its records itself, so nobody is told to", async (dns, place, hides) => {
    const served = { role: "primary", dns, state: "live", reason: "The record points to the API.", next: [] };
    const record = { zone: "example.com", type: "CNAME", name: "orders", ttl: 3600, value: TARGET };
    const validationRecord = { ...record, name: "_a1.orders", value: "_b.acm-validations.aws" };
    const input = JSON.stringify({ "orders.example.com": { ...served, record, validationRecord } });
    const soa = `${TARGET} A 192.0.2.1\nexample.com SOA ns1.example.com`;
    await using server = await startDnsServer(soa);
    const check = ["domains", "check", "--stack", "-", "--resolver", server.address];
    for (const wrong of ["", "CNAME old.example.net", "A 192.0.2.9", "A 104.16.0.1"]) {
      server.update(wrong === "" ? soa : `${soa}\norders.example.com ${wrong}`);
      const { status, stdout } = await cli.run(check, { input });
      expect(status).toBe(1);
      expect(stdout).toContain(`Unless the host is under 'hold', the stack sets this record ${place}. 'npx`);
      expect(stdout).toContain(hides);
      expect(stdout).not.toMatch(/(add|change|set|rename) the|At the DNS provider/);
    }
    const [report] = JSON.parse((await cli.run([...check, "--json"], { input })).stdout);
    expect(report).toMatchObject({ records: [], stack: { dns }, state: "pending_dns" });
    expect(report.advice[0]).toMatch(/^Run 'npx pulumi up --refresh', then verify again/);
    const set = dns === "route53" ? "A 192.0.2.1" : `CNAME ${TARGET}`;
    const validation = "_a1.orders.example.com CNAME _b.acm-validations.aws";
    server.update(`${soa}\norders.example.com ${set}\n${validation}`);
    expect((await cli.run(check, { input })).status).toBe(0);
  });

  test("no output, as of a stack whose first update failed, exits with 2 and names the update", async () => {
    const check = ["domains", "check", "--stack", "-"];
    const { status, stdout, stderr } = await cli.run(check, { input: "\n" });
    expect([status, stdout]).toEqual([2, ""]);
    expect(stderr).toContain("There is no output: no update of the stack has ended");
    expect(stderr).toContain("Run 'npx pulumi up' first");
  });

  test.each([
    ["baseUrl: x", "-: This is not JSON."],
    ["null", "--stack: This is not an object with the hosts."],
    ['{ "domains": "none" }', "--stack: This is not an object with the hosts."],
    ["[]", "--stack: This is not an object with the hosts."],
  ])("%s instead of outputs exits with 2 and what to pass", async (input, problem) => {
    const { status, stdout, stderr } = await cli.run(["domains", "check", "--stack", "-"], { input });
    expect([status, stdout]).toEqual([2, ""]);
    expect(stderr).toBe(`error: ${problem} Pass what 'npx pulumi stack output domains --json' prints.\n`);
  });
});
