import { afterAll, describe, expect, test } from "vitest";
import { startDnsServer } from "../../support/dns-server.ts";
import { cloud, type World, zone } from "../harness/cloud.ts";
import type { Recording } from "../harness/engine.ts";
import { run } from "../harness/program.ts";
import {
  domainNames,
  foreignRecord,
  messages,
  production,
  redirectFrom,
  update,
  withDomains,
} from "../harness/scenario.ts";

const failing = {
  "store-orders-production-orders-example-com-validation": "timeout while waiting for state to become ISSUED",
};
const forbidding = await startDnsServer('example.com CAA 0 issue "letsencrypt.org"');
const elsewhere = await startDnsServer("example.com NS ns1.registrar.example");
afterAll(async () => {
  for (const server of [forbidding, elsewhere]) await server[Symbol.asyncDispose]();
});
const certificateTimeout = update(production, { cloud: cloud({ failing }), dns: elsewhere });

const preview = (config: Readonly<Record<string, unknown>>, world: World) =>
  run({ stack: "production", config, preview: true, cloud: cloud(world), dns: forbidding });
const resources = ({ registrations }: Recording) => registrations.filter(({ custom }) => custom);

describe("the preflight", () => {
  test("the preflight reports a conflicting record, a missing zone and CAA records together, before any resource is registered", async () => {
    const redirects = [redirectFrom("shop.example.net")];
    const config = withDomains({ primary: "orders.example.com", redirects });
    const outcome = await preview(config, { records: [foreignRecord] });
    expect(outcome.code).not.toBe(0);
    expect(resources(outcome)).toEqual([]);
    expect(outcome.errors).toMatchInlineSnapshot(`
      "DNS is not ready for the domains:
        orders.example.com: A orders.example.com → 192.0.2.1 (record f00d, comment 'old shop') conflicts with the CNAME of this stack. If it serves traffic, follow infra/domains/README.md#move-a-live-host. Otherwise delete it, and run 'npx pulumi up --refresh'.
        shop.example.net: the Cloudflare token can read no zone for this host (looked for shop.example.net, example.net). Add the zone at Cloudflare, grant the token 'Zone Read' on it, or set 'dns: manual' if its DNS is managed elsewhere.
        orders.example.com: CAA records forbid the certificate. Found: example.com CAA 0 issue "letsencrypt.org". At the DNS provider of example.com, add the record CAA 0 issue "amazon.com" at example.com; keep the existing records."
    `);
  });

  test("names a record that delegates to others, although a zone of that name is pending", async () => {
    const delegation = {
      ...foreignRecord,
      name: "eu.example.com",
      type: "NS",
      content: "ns-1.awsdns-01.com",
    };
    const zones = [zone("example.com"), zone("eu.example.com", { status: "pending" })];
    const config = withDomains({ primary: "api.eu.example.com" });
    const { errors } = await preview(config, { zones, records: [delegation] });
    expect(errors).toContain("NS eu.example.com → ns-1.awsdns-01.com");
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

test("a delegation that leads elsewhere is a warning, because no record at Cloudflare counts then", async () => {
  const outcome = await certificateTimeout;
  expect(outcome.logs.map(({ message }) => message)).toContain(
    "DNS asks ns1.registrar.example for example.com, and not Cloudflare (ada.ns.cloudflare.com, bob.ns.cloudflare.com): no record that is set there counts. Correct the name servers where example.com is delegated.",
  );
});

test("a certificate that ACM rejects at once is told apart from one that it has not issued in time", async () => {
  const error = "unexpected state 'FAILED', wanted target 'ISSUED'";
  const rejected = { "store-orders-production-orders-example-com-validation": error };
  const outcome = await update(production, { cloud: cloud({ failing: rejected }) });
  expect(messages(outcome, 3)[0]).toMatch(
    /^ACM rejected the request for the certificate of orders.example.com \(FAILED\)/,
  );
});

test("an update without a certificate after 30 minutes fails with a checklist", async () => {
  const outcome = await certificateTimeout;
  expect(outcome.code).not.toBe(0);
  expect(domainNames(outcome)).toEqual([]);
  expect(messages(outcome, 3)[0]).toMatchInlineSnapshot(`
    "No certificate was issued for orders.example.com within 30 minutes.
      1. Ask DNS for the validation record: 'dig +short CNAME _0123.orders.example.com' has to print _4567.acm-validations.aws.
      2. If it prints nothing or something else, look at this record in the zone at Cloudflare. Set it to 'DNS only', and switch 'CNAME flattening for all CNAME records' off in the zone: a proxied or flattened record is answered with addresses. 'npx pulumi up --refresh' sets it again if it is missing or was changed.
      3. If it is right there, DNS asks other servers: 'dig +short NS', with the domain of the zone, has to print the name servers of this zone. Correct them at the registrar, or in the zone above.
      4. If DNS has it, a CAA record can forbid the certificate: 'dig +short CAA orders.example.com', then the same for each domain above it. The first answer, if any, has to allow amazon.com.
      5. Update again: ACM looks for the record until 72 hours after the request. After that, or if it has rejected the request, first set store-orders:reverify to { orders.example.com: 1 }, which requests another certificate.
      See infra/domains/README.md#certificate-not-issued.
      Error from the provider: timeout while waiting for state to become ISSUED"
  `);
});
