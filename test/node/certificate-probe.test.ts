import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { DnsResolver } from "../../lib/domains/verification/resolver.ts";
import { createCertificateProbe } from "../../lib/node/certificate-probe.ts";
import { createDnsResolver } from "../../lib/node/dns-resolver.ts";
import { createTestAuthority } from "../support/certificates.ts";
import { type DnsServer, startDnsServer } from "../support/dns-server.ts";
import { startTlsServer, type TlsServer } from "../support/tls-server.ts";

const DAY = 24 * 3_600_000;
const authority = createTestAuthority();
const now = Date.now();

describe("a certificate probe", () => {
  let dns: DnsServer;
  let tls: TlsServer;
  beforeAll(async () => {
    const hosts = ["right", "wrong", "expired", "early", "untrusted", "none"];
    dns = await startDnsServer(hosts.map((host) => `${host}.example.com A 127.0.0.1`).join("\n"));
    tls = await startTlsServer({
      "right.example.com": authority.issue(["right.example.com"], { to: now + 30 * DAY }),
      "wrong.example.com": authority.issue(["*.platform.example", "other.example.com"]),
      "expired.example.com": authority.issue(["expired.example.com"], { from: now - 2 * DAY, to: now - DAY }),
      "early.example.com": authority.issue(["early.example.com"], { from: now + DAY }),
      "untrusted.example.com": createTestAuthority("Another authority").issue(["untrusted.example.com"]),
    });
  });
  afterAll(async () => {
    await dns[Symbol.asyncDispose]();
    await tls[Symbol.asyncDispose]();
  });

  const probe = (host: string, port = tls.port, timeoutMs = 5000) =>
    createCertificateProbe({
      resolver: createDnsResolver({ servers: [dns.address], maxAttempts: 1 }),
      port,
      ca: authority.cert,
      timeoutMs,
    })(host);

  test("a trusted certificate for the host is valid until its expiry", async () => {
    const expiresAt = Math.floor((now + 30 * DAY) / 1000) * 1000;
    expect(await probe("right.example.com")).toEqual({ outcome: "valid", expiresAt });
    expect(tls.names.at(-1)).toBe("right.example.com");
  });

  test.each([
    ["of other hosts", "wrong.example.com", "wrong_host", /certificate for \*\.platform\.example, other/],
    ["that has expired", "expired.example.com", "expired", /^the certificate expired on \w+ +\d+ /],
    ["that is not valid yet", "early.example.com", "not_yet_valid", /is not valid before \w+ +\d+ /],
    ["of an unknown authority", "untrusted.example.com", "untrusted", /is not trusted \(\w+\)/],
  ])("a certificate %s is invalid, with what was found", async (_name, host, code, found) => {
    expect(await probe(host)).toEqual({ outcome: "invalid", code, found: expect.stringMatching(found) });
  });

  test("a host without an address or without a certificate is unreachable", async () => {
    expect(await probe("none.example.com")).toMatchObject({ outcome: "unreachable" });
    const unreachable = { outcome: "unreachable", found: "no TLS connection (ENOTFOUND)" };
    expect(await probe("missing.example.com")).toEqual(unreachable);
  });

  test("a host whose IPv4 address cannot be reached is reached at its IPv6 address", async () => {
    const resolver = (async (_name: string, type: string) => ({
      outcome: "found",
      records: [type === "A" ? "127.0.0.2" : "127.0.0.1"],
    })) as unknown as DnsResolver;
    const options = { resolver, port: tls.port, ca: authority.cert };
    expect(await createCertificateProbe(options)("right.example.com")).toMatchObject({ outcome: "valid" });
  });

  test("a host that does not respond is unreachable after the timeout", async () => {
    const silent = await import("node:net").then(({ createServer }) => createServer().listen(0, "127.0.0.1"));
    await new Promise((resolve) => silent.once("listening", resolve));
    const { port } = silent.address() as { port: number };
    const unreachable = { outcome: "unreachable", found: "no TLS connection within 50 ms" };
    expect(await probe("right.example.com", port, 50)).toEqual(unreachable);
    silent.close();
  });

  test("the authorities that Node trusts are trusted by default, and no other", async () => {
    const resolver = createDnsResolver({ servers: [dns.address], maxAttempts: 1 });
    const untrusting = createCertificateProbe({ resolver, port: tls.port });
    expect(await untrusting("right.example.com")).toMatchObject({ outcome: "invalid", code: "untrusted" });
  });
});

test.each([
  ["rejects", () => Promise.reject(new Error("no network")), "no network"],
  ["rejects without an error", () => Promise.reject(null), "unknown"],
  ["throws", () => expect.fail("no network"), "no network"],
  ["returns no answer", async () => null as never, expect.stringContaining("null")],
])("a resolver that %s makes a host unreachable, and ends no process", async (_, resolver, reason) => {
  const check = await createCertificateProbe({ resolver, timeoutMs: 500 })("a.example.com");
  expect(check.outcome).toBe("unreachable");
  expect(/\((.*)\)$/.exec("found" in check ? check.found : "")?.[1]).toEqual(reason);
});
