import { describe, expect, test } from "vitest";
import type { Verification } from "../../../lib/domains/status/facts.ts";
import {
  type CertificateStatus,
  describeManualHost,
  type StackStatus,
} from "../../../lib/domains/status/steps.ts";

const host = "orders.example.org";
const problem = {
  code: "wrong_target",
  host,
  name: host,
  found: "CNAME elsewhere.example.net\u001b[2J",
  expected: "CNAME target",
  fix: "Change\u001b[2J it.",
} as const;

describe("an awaited certificate", () => {
  test("an awaited certificate needs attention if ACM rejected the request", () => {
    const awaited = { host, reverify: 2, isPrepared: false, certificate: "FAILED" } as const;
    expect(describeManualHost(awaited)).toMatchInlineSnapshot(`
      {
        "attention": "certificate_failed",
        "next": [
          "Check that CAA records do not block the certificate authority, and that ACM accepts the name: the console of ACM shows the reason.",
          "Request a new certificate: set store-orders:reverify to { orders.example.org: 3 } and update.",
        ],
        "reason": "ACM rejected the request for the certificate (FAILED).",
        "state": "needs_attention",
      }
    `);
  });

  test("an awaited certificate has no deadline if the time of the request is not known", () => {
    for (const requestedAt of [undefined, "yesterday"]) {
      const status = describeManualHost({ host, reverify: 0, isPrepared: false, requestedAt });
      expect(status).toMatchObject({ state: "pending_dns" });
      expect(status.reason).toBe("ACM waits for the validation record. It stops 72 hours after the request.");
      expect(Object.keys(status)).not.toContain("until");
    }
  });
});

const describePrepared = (
  certificate: CertificateStatus,
  seen?: Pick<Verification, "dns" | "reasons">,
): StackStatus => describeManualHost({ host, reverify: 0, isPrepared: true, certificate, seen });

describe("a host with a domain name", () => {
  test.each(["EXPIRED", "REVOKED", "INACTIVE"] as const)(
    "a host with a domain name needs attention if its certificate is %s",
    (status) => {
      const described = describePrepared(status, { dns: "ok", reasons: [] });
      expect(described).toMatchObject({ state: "needs_attention", attention: "certificate_failed" });
      expect(described.reason).toContain(status);
    },
  );

  test("a host with a domain name is live only if its record was observed", () => {
    expect(describePrepared("ISSUED", { dns: "ok", reasons: [] }).state).toBe("live");
    expect(describePrepared("ISSUED", undefined).state).toBe("pending_dns");
  });

  test("a live host whose validation record is gone says that its certificate cannot be renewed", () => {
    const gone = { ...problem, code: "validation_record" } as const;
    expect(describePrepared("ISSUED", { dns: "ok", reasons: [gone] })).toMatchObject({
      state: "live",
      reason: expect.stringContaining("The certificate cannot be renewed"),
      next: ["Change\\u001b[2J it."],
    });
  });

  test("a host with a domain name is described by what was found instead, without control characters", () => {
    expect(describePrepared("ISSUED", { dns: "wrong_target", reasons: [problem] })).toMatchInlineSnapshot(`
      {
        "next": [
          "Change\\u001b[2J it.",
          "DNS changes may take up to 48 hours to propagate.",
          "Update again once it is set: the host is then reported as live.",
        ],
        "reason": "The certificate has been issued. The record of the host has not been observed yet: CNAME elsewhere.example.net\\u001b[2J.",
        "state": "pending_dns",
      }
    `);
  });
});
