import { describe, expect, test } from "vitest";
import {
  addDomain,
  CERTIFICATE_TIMEOUT_MS,
  domainAt,
  transitionDomain,
  VALIDATION_TIMEOUT_MS,
} from "../../lib/domains/status/status.ts";
import { adviceFor } from "../../lib/domains/status/steps.ts";
import { applyEvents, MINUTE, NOON } from "./lifecycle-fixture.ts";

describe("a certificate that has not been issued 30 minutes after verification", () => {
  const verified = applyEvents(addDomain("orders.example.com", NOON), ["dns_verified", NOON + MINUTE]);
  const due = NOON + MINUTE + CERTIFICATE_TIMEOUT_MS;

  test("a verified domain needs attention after exactly 30 minutes without a certificate", () => {
    expect(CERTIFICATE_TIMEOUT_MS).toBe(30 * MINUTE);
    expect(domainAt(verified, due - 1)).toBe(verified);
    expect(domainAt(verified, due)).toEqual({
      host: "orders.example.com",
      state: "needs_attention",
      since: due,
      verifiedAt: NOON + MINUTE,
      attention: "certificate_overdue",
    });
  });

  test("a domain whose certificate is pending needs attention 30 minutes after its first verification", () => {
    const pending = applyEvents(
      verified,
      ["certificate_requested", NOON + 10 * MINUTE],
      ["dns_verified", NOON + 20 * MINUTE],
      ["dns_unknown", NOON + 25 * MINUTE],
    );
    expect(domainAt(pending, due - 1).state).toBe("certificate_pending");
    expect(domainAt(pending, due)).toMatchObject({
      state: "needs_attention",
      attention: "certificate_overdue",
    });
  });

  test("an event after the 30 minutes applies to a domain that needs attention", () => {
    expect(transitionDomain(verified, "certificate_requested", due)).toMatchObject({
      ok: false,
      code: "reverify_first",
      state: "needs_attention",
    });
    expect(transitionDomain(verified, "certificate_issued", due)).toMatchObject({
      ok: true,
      domain: { state: "live" },
    });
  });

  test("a domain that is live or waits for DNS has no certificate timeout", () => {
    const live = applyEvents(verified, ["certificate_requested", NOON + 2], ["certificate_issued", NOON + 3]);
    expect(domainAt(live, due * 2)).toBe(live);
    const pending = addDomain("orders.example.com", NOON);
    expect(domainAt(pending, due)).toBe(pending);
  });

  test("reverify starts a new attempt with 30 minutes of its own", () => {
    const again = applyEvents(verified, ["reverify", due + 1], ["dns_verified", due + 2]);
    expect(again).toEqual({
      host: "orders.example.com",
      state: "verified",
      since: due + 2,
      verifiedAt: due + 2,
      attemptSince: due + 1,
    });
    expect(domainAt(again, due + 1 + CERTIFICATE_TIMEOUT_MS).state).toBe("verified");
    expect(domainAt(again, due + 2 + CERTIFICATE_TIMEOUT_MS).state).toBe("needs_attention");
  });

  test.each(["certificate_overdue", "certificate_failed"] as const)(
    "the advice for %s names the three checks and the commands for them",
    (attention) => {
      expect(adviceFor({ state: "needs_attention", attention }).join(" ")).toMatch(
        /still verifies: run 'store-orders domains check'.*CAA records do not block.*new certificate: .* 'reverify'/,
      );
    },
  );
});

describe("a domain that is not verified within 72 hours", () => {
  const added = addDomain("orders.example.com", NOON);
  const due = NOON + 72 * 60 * MINUTE;

  test("a domain needs attention after exactly 72 hours, because the authority stops trying", () => {
    expect(VALIDATION_TIMEOUT_MS).toBe(72 * 60 * MINUTE);
    expect(domainAt(added, due - 1)).toBe(added);
    const overdue = domainAt(added, due + MINUTE);
    expect(overdue).toEqual({
      host: "orders.example.com",
      state: "needs_attention",
      since: due,
      attention: "validation_timed_out",
    });
    expect(adviceFor(overdue).join(" ")).toMatch(/72 hours.*Set the record.*new certificate: .* 'reverify'/);
  });

  test("reverify starts another 72 hours", () => {
    const again = applyEvents(added, ["reverify", due + 1]);
    expect(domainAt(again, due + 72 * 60 * MINUTE).state).toBe("pending_dns");
    expect(applyEvents(again, ["dns_verified", due + 2]).state).toBe("verified");
  });
});
