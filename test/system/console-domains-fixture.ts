import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, BrowserContextOptions } from "playwright-core";
import { onTestFinished } from "vitest";
import type { DomainsOptions } from "../../lib/console/domains/hosts.ts";
import { AUTHORITIES } from "../../lib/domains/verification/caa.ts";
import { createCertificateProbe } from "../../lib/node/certificate-probe.ts";
import { createDnsResolver } from "../../lib/node/dns-resolver.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { createTestAuthority } from "../support/certificates.ts";
import { startDnsServer } from "../support/dns-server.ts";
import { startTlsServer } from "../support/tls-server.ts";
import { openConsole } from "./console-fixture.ts";

export const TARGET = "d-1a2b3c.platform.example.net";
export const FILE = `# The hosts of the shop.
domains:
  primary: orders.example.com # printed on the bags
  redirects:
    - { from: www.orders.example.com, to: orders.example.com, status: 301 }
`;
/** The platform, and zones that exist. */
const WORLD = `com NS ns.registry.example\nexample.com NS ns1.example.com\nnet NS ns.registry.example
platform.example.net NS ns1.platform.example.net\n${TARGET} A 127.0.0.1\n`;

interface Settings extends BrowserContextOptions {
  readonly file?: string;
}

/** Opens a console with a domains file of its own in a browser, on its page "Domains", beside the servers that it asks. */
export async function openDomainsConsole(browser: Browser, { file = FILE, ...options }: Settings = {}) {
  const directory = mkdtempSync(join(tmpdir(), "console-domains-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const path = join(directory, "domains.yaml");
  writeFileSync(path, file);
  const authority = createTestAuthority();
  const dns = await startDnsServer(WORLD);
  const tls = await startTlsServer({ "*": authority.issue(["*.platform.example.net"]) });
  onTestFinished(async () => {
    await dns[Symbol.asyncDispose]();
    await tls[Symbol.asyncDispose]();
  });
  const resolver = createDnsResolver({ servers: [dns.address], maxAttempts: 1 });
  const probe = createCertificateProbe({ resolver, port: tls.port, ca: authority.cert });
  const how = { resolver, probe, authorities: [AUTHORITIES.amazon], intervalMs: 1000 };
  const domains: DomainsOptions = { path, plan: "pro", target: TARGET, ...how };
  const opened = await openConsole(browser, createMemoryStore(), { domains, ...options });
  await opened.page.click("nav >> text=Domains");
  await opened.page.waitForSelector("h1:text-is('Domains')");
  return {
    ...opened,
    path,
    dns,
    /** Sets the records besides the platform's. */
    setRecords: (...records: readonly string[]) => dns.update([WORLD, ...records].join("\n")),
    issueFor: (host: string) => tls.certificates.set(host, authority.issue([host])),
  };
}
