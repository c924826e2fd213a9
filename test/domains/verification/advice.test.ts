import { describe, expect, test } from "vitest";
import type { AttentionReason } from "../../../lib/domains/status/status.ts";
import { adviceFor } from "../../../lib/domains/status/steps.ts";

const PROPAGATION = "DNS changes may take up to 48 hours to propagate.";
const ON_STACK = {
  request:
    "Request a new certificate: increase the host's number under 'reverify' in the stack configuration and deploy.",
  // The console does not show the domains of a stack.
  verify: "verify again: 'store-orders domains check'.",
};
const ON_MACHINE = {
  request:
    "Request a new certificate: reload the server in front that requests it, such as Caddy, or run certbot again.",
  verify: "verify again: 'store-orders domains check', or the console.",
};
const CHECKS = [
  "Check that the domain still verifies: run 'store-orders domains check'.",
  "Check that CAA records do not block the certificate authority.",
];

describe("the advice", () => {
  test.each(["verified", "certificate_pending"] as const)("for %s depends on the deployment", (state) => {
    const onStack = ["The certificate is issued automatically, usually within a couple of minutes."];
    expect(adviceFor({ state })).toEqual(onStack);
    expect(adviceFor({ state }, "stack")).toEqual(onStack);
    expect(adviceFor({ state }, "machine")).toEqual([
      "The server in front, such as Caddy, requests the certificate, usually within a couple of minutes.",
    ]);
  });

  test("for a missing record says how to verify it in this deployment", () => {
    const advice = ({ verify }: typeof ON_STACK) => [
      `Set the record at the DNS provider, then ${verify}`,
      PROPAGATION,
    ];
    expect(adviceFor({ state: "pending_dns" })).toEqual(advice(ON_STACK));
    expect(adviceFor({ state: "pending_dns" }, "machine")).toEqual(advice(ON_MACHINE));
  });

  test.each([
    ["live", ["Nothing to do."]],
    ["removed", ["Remove its record at the DNS provider as well, so that no record points here."]],
    ["unknown", ["Retry, or use another resolver. A failed lookup does not change the state of the domain."]],
  ] as const)("for %s is the same in every deployment", (state, advice) => {
    expect(adviceFor({ state })).toEqual(advice);
    expect(adviceFor({ state }, "machine")).toEqual(advice);
  });

  test.each<[AttentionReason | undefined, (deployment: typeof ON_STACK) => readonly string[]]>([
    [
      "validation_timed_out",
      ({ request, verify }) => [
        "The domain was not verified within 72 hours, after which the certificate authority stops trying.",
        `Set the record at the DNS provider, then ${verify}`,
        request,
      ],
    ],
    [
      "certificate_forbidden",
      ({ request, verify }) => [
        `Change the CAA records that forbid the certificate, then ${verify}`,
        `If the authority has already rejected a request: ${request}`,
        PROPAGATION,
      ],
    ],
    [
      "certificate_overdue",
      ({ request }) => ["No certificate has been issued 30 minutes after verification.", ...CHECKS, request],
    ],
    [
      "certificate_failed",
      ({ request }) => ["The certificate is not valid, or its authority rejected it.", ...CHECKS, request],
    ],
    [
      "dns_broken",
      ({ verify }) => [
        "The DNS records no longer lead to the platform.",
        `Fix them at the DNS provider, then ${verify}`,
        PROPAGATION,
      ],
    ],
    // The default.
    [
      undefined,
      ({ request }) => ["No certificate has been issued 30 minutes after verification.", ...CHECKS, request],
    ],
  ])("for a domain that needs attention says what to do about %s", (attention, expected) => {
    const domain = { state: "needs_attention", ...(attention && { attention }) } as const;
    expect(adviceFor(domain)).toEqual(expected(ON_STACK));
    expect(adviceFor(domain, "machine")).toEqual(expected(ON_MACHINE));
  });
});
