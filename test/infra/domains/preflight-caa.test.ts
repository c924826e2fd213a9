import { afterAll, expect, test } from "vitest";
import { findCaaProblems } from "../../../infra/domains/preflight.ts";
import { findZone } from "../../../lib/domains/verification/find-zone.ts";
import { createDnsResolver } from "../../../lib/node/dns-resolver.ts";
import { startDnsServer } from "../../support/dns-server.ts";

const server = await startDnsServer(
  `
  example.com CAA 0 issue "letsencrypt.org"
  shop.example.com CNAME old-shop.platform.example.net
  old-shop.platform.example.net CAA 0 issue "letsencrypt.org"
  old-shop.platform.example.net CAA 0 issuewild "amazon.com"
  strict.example.com CAA 128 contactemail "me@example.com"
  strict-shop.example.com CNAME strict.platform.example.net
  strict.platform.example.net CAA 128 future "x"
  open.example.com CAA 0 issue "amazon.com"
  empty.example.net CAA 0 issue ""
  odd.example.net CAA 0 iodef ""
  odd.example.net CAA 0 contactemail ""
`,
  { "refused.example.org": "REFUSED", "broken.example.org": "SERVFAIL" },
);
afterAll(() => server[Symbol.asyncDispose]());

const resolver = createDnsResolver({ servers: [server.address] });
const find = async (hasCertificate: boolean, ...hosts: readonly string[]) => {
  const zones = await Promise.all(hosts.map((host) => findZone(resolver, host)));
  const located = zones.map((zone, index) => ({ host: hosts[index] ?? "", zone, hasCertificate }));
  return findCaaProblems(located, resolver);
};

test("hosts that may get a certificate are no problem", async () => {
  const found = await find(false, "open.example.com", "a.open.example.com", "example.net");
  expect(found).toEqual({ problems: [], warnings: [] });
});

test("each record that forbids a certificate is a problem with its fix, also behind a CNAME", async () => {
  const hosts = ["orders.example.com", "shop.example.com", "strict.example.com", "strict-shop.example.com"];
  const { problems, warnings } = await find(false, ...hosts);
  expect(warnings).toEqual([]);
  expect(problems).toMatchInlineSnapshot(`
    [
      "orders.example.com: CAA records forbid the certificate. Found: example.com CAA 0 issue "letsencrypt.org". At the DNS provider of example.com, add the record CAA 0 issue "amazon.com" at example.com; keep the existing records.",
      "shop.example.com: CAA records forbid the certificate. Found: old-shop.platform.example.net CAA 0 issue "letsencrypt.org", CAA 0 issuewild "amazon.com". shop.example.com inherits these records through its CNAME. Remove it until the certificate has been issued, or ask the operator of old-shop.platform.example.net to add the record CAA 0 issue "amazon.com".",
      "strict.example.com: A critical CAA record with a tag that the authority does not know forbids its certificates. Found: strict.example.com CAA 128 contactemail "me@example.com". At the DNS provider of example.com, set the flags of CAA 128 contactemail "me@example.com" to 0 at strict.example.com.",
      "strict-shop.example.com: A critical CAA record with a tag that the authority does not know forbids its certificates. Found: strict.platform.example.net CAA 128 future "x". strict-shop.example.com inherits these records through its CNAME. Remove it until the certificate has been issued, or ask the operator of strict.platform.example.net to set the flags of CAA 128 future "x" to 0.",
    ]
  `);
});

test("an empty value forbids its own host, permits it in another property, and hides no other host's records", async () => {
  const hosts = ["odd.example.net", "open.example.com", "empty.example.net", "orders.example.com"];
  for (const [index] of hosts.entries()) {
    const order = [...hosts.slice(index), ...hosts.slice(0, index)];
    for (let repetition = 0; repetition < 5; repetition++) {
      const { problems, warnings } = await find(false, ...order);
      const named = problems.map((problem) => problem.split(":")[0]).toSorted();
      expect(named).toEqual(["empty.example.net", "orders.example.com"]);
      expect(warnings).toEqual([]);
    }
  }
});

test("records that prevent the renewal of a certificate are a warning", async () => {
  const { problems, warnings } = await find(true, "orders.example.com");
  expect(problems).toEqual([]);
  expect(warnings).toMatchInlineSnapshot(`
    [
      "orders.example.com: The certificate cannot be renewed. CAA records forbid the certificate. Found: example.com CAA 0 issue "letsencrypt.org". At the DNS provider of example.com, add the record CAA 0 issue "amazon.com" at example.com; keep the existing records.",
    ]
  `);
});

test("each failed lookup is a warning", async () => {
  const { problems, warnings } = await find(false, "refused.example.org", "broken.example.org");
  expect(problems).toEqual([]);
  expect(warnings).toMatchInlineSnapshot(`
    [
      "The CAA records of refused.example.org were not checked, because DNS did not answer (refused.example.org CAA: REFUSED). If they do not permit Amazon, no certificate is issued. Set store-orders:resolver to a DNS server that this machine can reach.",
      "The CAA records of broken.example.org were not checked, because DNS did not answer (broken.example.org CAA: SERVFAIL). If they do not permit Amazon, no certificate is issued. Set store-orders:resolver to a DNS server that this machine can reach.",
    ]
  `);
});
