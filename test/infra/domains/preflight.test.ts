import { afterAll, describe, expect, test, vi } from "vitest";
import { startDnsServer } from "../../support/dns-server.ts";
import { cloud, type World } from "../harness/cloud.ts";
import type { Recording } from "../harness/engine.ts";
import { run } from "../harness/program.ts";
import {
  domainNames,
  foreignRecord,
  production,
  redirectFrom,
  update,
  withDomains,
} from "../harness/scenario.ts";

// Runs are queued, so the first test waits for all of them.
vi.setConfig({ testTimeout: 120_000 });

const failing = {
  "store-orders-production-orders-example-com-validation": "timeout while waiting for state to become ISSUED",
};
const COMMENT = "store-orders/production, kept by Pulumi";
const forbidding = await startDnsServer(`
  example.com CAA 0 issue "letsencrypt.org"
  shop.example.com CNAME old-shop.platform.example.net
  old-shop.platform.example.net CAA 0 issue "letsencrypt.org"
  old-shop.platform.example.net CAA 0 issuewild "amazon.com"
  strict.example.com CAA 128 contactemail "me@example.com"
  open.example.com CAA 0 issue "amazon.com"
`);
const silent = await startDnsServer("", { "example.com": "REFUSED" });
afterAll(async () => {
  for (const server of [forbidding, silent]) await server[Symbol.asyncDispose]();
});
const certificateTimeout = update(production, { cloud: cloud({ failing }) });

const preview = (config: Readonly<Record<string, unknown>>, world: World) =>
  run({ stack: "production", config, preview: true, cloud: cloud(world) });
const warnings = ({ logs }: Recording) =>
  logs.filter(({ severity }) => severity === 2).map(({ message }) => message);
const resources = ({ registrations }: Recording) => registrations.filter(({ custom }) => custom);

describe("the preflight", () => {
  test("reports a conflicting record and a missing zone together, before any resource is registered", async () => {
    const config = withDomains({
      primary: "orders.example.com",
      redirects: [redirectFrom("shop.example.net")],
    });
    const outcome = await preview(config, { records: [foreignRecord] });
    expect(outcome.code).not.toBe(0);
    expect(resources(outcome)).toEqual([]);
    expect(outcome.errors).toMatchInlineSnapshot(`
      "DNS is not ready for the domains:
        orders.example.com: A orders.example.com → 192.0.2.1 (record f00d, comment 'old shop') conflicts with the CNAME of this stack. If it serves traffic, follow infra/README.md#move-a-live-host. Otherwise delete it.
        shop.example.net: the Cloudflare token can read no zone for this host (looked for shop.example.net, example.net). Add the zone at Cloudflare, grant the token 'Zone Read' on it, or set 'dns: manual' if its DNS is managed elsewhere."
    `);
  });

  test("fails if Cloudflare cannot be queried", async () => {
    const outcome = await preview(production, { unavailable: ["cloudflare:index/getZones:getZones"] });
    expect(outcome.code).not.toBe(0);
    expect(resources(outcome)).toEqual([]);
    expect(outcome.errors).toMatchInlineSnapshot(`
      "Cannot query Cloudflare for the zone orders.example.com: connection refused
      Set CLOUDFLARE_API_TOKEN to a token with 'Zone Read' and 'DNS Edit' on the zones, then retry."
    `);
  });
});

describe("CAA records", () => {
  const primary = "open.example.com";
  const redirects = ["orders.example.com", "shop.example.com", "strict.example.com"].map((from) => ({
    from,
    to: primary,
  }));
  const config = withDomains({ primary, redirects });

  test.each([
    ["cloudflare", {}],
    ["manual", { "store-orders:dns": "manual" }],
  ])(
    "that forbid a certificate fail the preview before any resource is registered (DNS: %s)",
    async (_dns, more) => {
      const outcome = await update({ ...config, ...more }, { preview: true, dns: forbidding });
      expect(outcome.code).not.toBe(0);
      expect(resources(outcome)).toEqual([]);
      expect(outcome.errors).toMatchInlineSnapshot(`
        "DNS is not ready for the domains:
          orders.example.com: CAA records forbid Amazon to issue the certificate: example.com CAA 0 issue "letsencrypt.org". At the DNS provider of example.com, add the record CAA 0 issue "amazon.com" at example.com; keep the existing records.
          shop.example.com: CAA records forbid Amazon to issue the certificate: old-shop.platform.example.net CAA 0 issue "letsencrypt.org", CAA 0 issuewild "amazon.com". shop.example.com or one of its parents is a CNAME that leads to old-shop.platform.example.net, so these records count. Remove that CNAME until the certificate has been issued, or ask the operator of old-shop.platform.example.net to add CAA 0 issue "amazon.com".
          strict.example.com: a critical CAA record with an unknown tag forbids every authority to issue the certificate: strict.example.com CAA 128 contactemail "me@example.com". At the DNS provider of example.com, remove the critical record at strict.example.com, or set its flags to 0."
      `);
    },
  );

  test("that prevent the renewal of a live host's certificate are a warning", async () => {
    const content = "d-ordersexamplecom.execute-api.eu-central-1.amazonaws.com";
    const record = { id: "1", zone: "example.com", name: "orders.example.com", type: "CNAME", content };
    const records = [{ ...record, comment: COMMENT }];
    const live = withDomains({ primary: "orders.example.com" });
    const outcome = await update(live, { preview: true, dns: forbidding, cloud: cloud({ records }) });
    expect({ code: outcome.code, errors: outcome.errors }).toEqual({ code: 0, errors: "" });
    expect(warnings(outcome)).toMatchInlineSnapshot(`
      [
        "orders.example.com: CAA records forbid Amazon to renew the certificate: example.com CAA 0 issue "letsencrypt.org". At the DNS provider of example.com, add the record CAA 0 issue "amazon.com" at example.com; keep the existing records.",
      ]
    `);
  });

  test("that cannot be looked up are a warning", async () => {
    const outcome = await update(config, { preview: true, dns: silent });
    expect({ code: outcome.code, errors: outcome.errors }).toEqual({ code: 0, errors: "" });
    expect(warnings(outcome)).toMatchInlineSnapshot(`
      [
        "The CAA records of open.example.com, orders.example.com, shop.example.com, strict.example.com were not checked, because DNS did not answer (open.example.com CAA: REFUSED; orders.example.com CAA: REFUSED; shop.example.com CAA: REFUSED). If they do not permit Amazon, no certificate is issued. Set store-orders:resolver to a DNS server that this machine can reach.",
      ]
    `);
  });

  test("are reported together with conflicting records", async () => {
    const outcome = await update(config, {
      preview: true,
      dns: forbidding,
      cloud: cloud({ records: [foreignRecord] }),
    });
    expect(outcome.errors).toContain("A orders.example.com → 192.0.2.1");
    expect(outcome.errors).toContain("orders.example.com: CAA records forbid");
  });
});

test("an update without a certificate after 30 minutes fails with a checklist", async () => {
  const outcome = await certificateTimeout;
  expect(outcome.code).not.toBe(0);
  expect(domainNames(outcome)).toEqual([]);
  const errors = outcome.logs.filter(({ severity }) => severity === 3).map(({ message }) => message);
  expect(errors[0]).toMatchInlineSnapshot(`
    "No certificate was issued for orders.example.com within 30 minutes.
      1. Check that the DNS records of the host are correct: store-orders domains check
      2. Check that no CAA record forbids the certificate authority: either there is none, or one allows amazon.com.
      3. Request a new certificate: set store-orders:reverify to { orders.example.com: 1 } and update again.
      See infra/README.md#certificate-not-issued.
      Error from the provider: timeout while waiting for state to become ISSUED"
  `);
});
