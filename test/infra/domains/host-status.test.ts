import { describe, expect, test } from "vitest";
import { describeAwaitedCertificate, describeRecord } from "../../../lib/domains/status/steps.ts";

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
    const awaited = { host, reverify: 2, status: "FAILED" } as const;
    expect(describeAwaitedCertificate(awaited)).toMatchInlineSnapshot(`
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
      const status = describeAwaitedCertificate({ host, reverify: 0, requestedAt });
      expect(status).toMatchObject({ state: "pending_dns" });
      expect(status.reason).toBe("ACM waits for the validation record. It stops 72 hours after the request.");
      expect(Object.keys(status)).not.toContain("until");
    }
  });
});

describe("a host with a domain name", () => {
  test.each(["EXPIRED", "REVOKED", "INACTIVE"] as const)(
    "a host with a domain name needs attention if its certificate is %s",
    (status) => {
      const described = describeRecord(host, status, { dns: "ok", reasons: [] }, 0);
      expect(described).toMatchObject({ state: "needs_attention", attention: "certificate_failed" });
      expect(described.reason).toContain(status);
    },
  );

  test("a host with a domain name is live only if its record was observed", () => {
    expect(describeRecord(host, "ISSUED", { dns: "ok", reasons: [] }, 0).state).toBe("live");
    expect(describeRecord(host, "ISSUED", undefined, 0).state).toBe("pending_dns");
  });

  test("a live host whose validation record is gone says that its certificate cannot be renewed", () => {
    const gone = { ...problem, code: "validation_record" } as const;
    expect(describeRecord(host, "ISSUED", { dns: "ok", reasons: [gone] }, 0)).toMatchObject({
      state: "live",
      reason: expect.stringContaining("The certificate cannot be renewed"),
      next: ["Change\\u001b[2J it."],
    });
  });

  test("a host with a domain name is described by what was found instead, without control characters", () => {
    expect(
      describeRecord(host, "ISSUED", { dns: "wrong_target", reasons: [problem] }, 0),
    ).toMatchInlineSnapshot(`
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
