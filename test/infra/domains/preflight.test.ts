import { describe, expect, test, vi } from "vitest";
import { cloud, type World } from "../harness/cloud.ts";
import type { Seen } from "../harness/engine.ts";
import { run } from "../harness/program.ts";
import { foreign, from, hosts, production, update, withDomains } from "../harness/scenario.ts";

// The first test to need a run waits for those before it.
vi.setConfig({ testTimeout: 120_000 });

const late = update(production, {
  failing: {
    "store-orders-production-orders-example-com-validation":
      "timeout while waiting for state to become ISSUED",
  },
});

describe("what is in the way stops the preview before anything is made", () => {
  const preview = (world: World) => run({ stack: "production", preview: true, cloud: cloud(world) });
  const nothingMade = ({ registrations }: Seen) => registrations.filter(({ custom }) => custom);

  test("a record of somebody else's and a zone that is not there, both at once, each with its mend", async () => {
    const config = withDomains({ primary: "orders.example.com", redirects: [from("shop.example.net")] });
    const seen = await run({
      stack: "production",
      config,
      preview: true,
      cloud: cloud({ records: [foreign] }),
    });
    expect(seen.code).not.toBe(0);
    expect(nothingMade(seen)).toEqual([]);
    expect(seen.errors).toMatchInlineSnapshot(`
      "DNS is not ready for the domains:
        orders.example.com: A orders.example.com → 192.0.2.1 (record f00d, comment 'old shop') is in the way of our CNAME. Delete it; or, if it carries traffic, put orders.example.com under 'hold' and move it as "Moving a live host" says.
        shop.example.net: there is no zone for it among those that the Cloudflare token sees (looked for shop.example.net, example.net). Add the zone there, give the token 'Zone Read' on it, or set 'dns: manual' where DNS is elsewhere."
    `);
  });

  test("Cloudflare that does not answer is no verdict", async () => {
    const seen = await preview({ silent: ["cloudflare:index/getZones:getZones"] });
    expect(nothingMade(seen)).toEqual([]);
    expect(seen.errors).toMatchInlineSnapshot(`
      "Cloudflare could not be asked about the zone orders.example.com: connection refused
      Set CLOUDFLARE_API_TOKEN to a token with 'Zone Read' and 'DNS Edit' on the zones, and run again."
    `);
  });

  test("a certificate that does not come in 30 minutes ends with what to check", async () => {
    const seen = await late;
    expect(hosts(seen)).toEqual([]);
    const told = seen.logs.filter(({ severity }) => severity === 3).map(({ message }) => message);
    expect(told[0]).toMatchInlineSnapshot(`
      "No certificate has come for orders.example.com within 30 minutes of asking.
        1. Check that the domain still verifies. (store-orders domains check)
        2. Check that CAA records do not block the certificate authority. (Amazon has to be among them, or there are none)
        3. Request a new certificate. (store-orders:reverify: { orders.example.com: 1 }, then run again)
        What the provider said: timeout while waiting for state to become ISSUED"
    `);
  });
});
