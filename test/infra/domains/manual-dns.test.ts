import { Readable } from "node:stream";
import { describe, expect, test, vi } from "vitest";
import { readStackDomains } from "../../../lib/cli/stack-domains.ts";
import { cloud } from "../harness/cloud.ts";
import { ofType } from "../harness/program.ts";
import { domainNames, success, update, withDomains } from "../harness/scenario.ts";

// Runs are queued, so the first test waits for all of them.
vi.setConfig({ testTimeout: 120_000 });

const config = withDomains({ primary: "orders.example.org" }, { "store-orders:dns": "manual" });
const beforeCertificate = update(config);
const withCertificate = update(config, { cloud: cloud({ issued: ["orders.example.org"] }) });

describe("with DNS managed elsewhere", () => {
  test("the first update requests the certificate, outputs the validation record, and does not wait", async () => {
    const outcome = await success(beforeCertificate);
    expect(domainNames(outcome)).toEqual([]);
    expect(ofType(outcome, "aws:acm/certificateValidation:CertificateValidation")).toEqual([]);
    expect(outcome.registrations.some(({ type }) => type.startsWith("cloudflare:"))).toBe(false);
    expect(outcome.stackOutputs["domains"]).toEqual({
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
    expect(outcome.stackOutputs["baseUrl"]).toBe(
      "https://api123.execute-api.eu-central-1.amazonaws.com/live/v1",
    );
  });

  test("once the certificate has been issued, the next update creates the domain and outputs its target", async () => {
    const outcome = await success(withCertificate);
    expect(domainNames(outcome)).toEqual(["orders.example.org"]);
    expect(outcome.stackOutputs["domains"]).toMatchObject({
      "orders.example.org": {
        state: "live",
        record: { value: "d-ordersexampleorg.execute-api.eu-central-1.amazonaws.com" },
      },
    });
    expect(outcome.stackOutputs["baseUrl"]).toBe("https://orders.example.org/v1");
  });

  test("the command line reads the hosts and targets from the outputs", async () => {
    const read = async (cloud: Parameters<typeof success>[0]) => {
      const { stackOutputs } = await success(cloud);
      return readStackDomains("-", { input: Readable.from([Buffer.from(JSON.stringify(stackOutputs))]) });
    };
    const host = { host: "orders.example.org", role: "primary" };
    const knownZones = ["example.org"];
    expect(await read(beforeCertificate)).toEqual({ hosts: [host], knownZones });
    const target = "d-ordersexampleorg.execute-api.eu-central-1.amazonaws.com";
    expect(await read(withCertificate)).toEqual({ hosts: [{ ...host, target }], knownZones });
  });
});
