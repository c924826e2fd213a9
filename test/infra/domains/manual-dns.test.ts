import { describe, expect, test, vi } from "vitest";
import { ofType } from "../harness/program.ts";
import { hosts, ok, update, withDomains } from "../harness/scenario.ts";

// The first test to need a run waits for those before it.
vi.setConfig({ testTimeout: 120_000 });

const waiting = update(withDomains({ primary: "orders.example.org" }, { "store-orders:dns": "manual" }));
const issued = update(withDomains({ primary: "orders.example.org" }, { "store-orders:dns": "manual" }), {
  issued: ["orders.example.org"],
});

describe("DNS elsewhere", () => {
  test("the first run asks for the certificate, tells the record to set, and waits for nothing", async () => {
    const seen = await ok(waiting);
    expect(hosts(seen)).toEqual([]);
    expect(ofType(seen, "aws:acm/certificateValidation:CertificateValidation")).toEqual([]);
    expect(seen.registrations.some(({ type }) => type.startsWith("cloudflare:"))).toBe(false);
    expect(seen.stackOutputs["domains"]).toEqual({
      "orders.example.org": {
        role: "primary",
        state: "pending_dns",
        record: { type: "CNAME", name: "orders", ttl: 3600 },
        validationRecord: {
          type: "CNAME",
          name: "_0123.orders.example.org",
          value: "_4567.acm-validations.aws",
        },
      },
    });
    expect(seen.stackOutputs["baseUrl"]).toBe(
      "https://api123.execute-api.eu-central-1.amazonaws.com/live/v1",
    );
  });

  test("once it has been issued, the next run makes the rest and tells where the host has to point", async () => {
    const seen = await ok(issued);
    expect(hosts(seen)).toEqual(["orders.example.org"]);
    expect(seen.stackOutputs["domains"]).toMatchObject({
      "orders.example.org": {
        state: "live",
        record: { value: "d-ordersexampleorg.execute-api.eu-central-1.amazonaws.com" },
      },
    });
    expect(seen.stackOutputs["baseUrl"]).toBe("https://orders.example.org/v1");
  });
});
