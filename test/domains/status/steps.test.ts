import { describe, expect, test } from "vitest";
import type { CertificateCheck } from "../../../lib/domains/status/facts.ts";
import type { Reason } from "../../../lib/domains/status/reasons.ts";
import {
  ATTENTION_REASONS,
  addHost,
  HOST_STATES,
  type HostStatus,
} from "../../../lib/domains/status/status.ts";
import {
  adviceFor,
  causeOf,
  describeProgress,
  PROPAGATION,
  type SeenHost,
  stepsFor,
} from "../../../lib/domains/status/steps.ts";

const AT = Date.UTC(2026, 10, 20, 12);
const wrong: Reason = {
  ...{ code: "wrong_target", host: "h", name: "h" },
  ...{ found: "CNAME old", expected: "CNAME new", fix: "Change it." },
};

function hostIn(status: Partial<HostStatus>, seen: Partial<SeenHost["seen"]> = {}): SeenHost {
  const right = { state: "verified", certificate: "allowed", reasons: [] } as const;
  return { status: { ...addHost("orders.example.com", AT), ...status }, seen: { ...right, ...seen } };
}

describe("the advice", () => {
  const states: readonly Parameters<typeof adviceFor>[0][] = HOST_STATES.flatMap<
    Parameters<typeof adviceFor>[0]
  >((state) =>
    state === "needs_attention" ? ATTENTION_REASONS.map((attention) => ({ state, attention })) : [{ state }],
  );

  test.each([...states, { state: "unknown" } as const])(
    "for %j is whole sentences without a button",
    (status) => {
      for (const deployment of ["cloudflare", "route53", "manual", "machine"] as const) {
        const advice = adviceFor(status, deployment);
        expect(advice.length).toBeGreaterThan(0);
        for (const step of advice) expect(step).toMatch(/^[A-Z].+[.]$/);
        expect(advice.join(" ")).not.toMatch(/choose|click|Re-verify/i);
      }
    },
  );

  test.each(["certificate_overdue", "certificate_failed"] as const)(
    "for %s names the checks",
    (attention) => {
      expect(adviceFor({ state: "needs_attention", attention }).join(" ")).toMatch(
        /still verifies: run 'store-orders domains check'.*CAA records do not block.*new certificate: .* 'reverify'/,
      );
    },
  );

  test("says how to request a certificate, and where to verify, on one machine and in a stack", () => {
    const late = { state: "needs_attention", attention: "validation_timed_out" } as const;
    expect(adviceFor(late)).toEqual([
      "The domain was not verified within 72 hours, after which the certificate authority stops trying.",
      "Set the record at the DNS provider, then verify again: 'store-orders domains check'.",
      "Request a new certificate: increase the host's number under 'reverify' in the stack configuration and deploy.",
    ]);
    const machine = adviceFor(late, "machine").join(" ");
    expect(machine).toContain("'store-orders domains check', or the console.");
    expect(machine).toContain("reload the server in front");
    const overdue = adviceFor({ state: "needs_attention", attention: "certificate_overdue" }, "machine");
    expect(overdue).toContain("Check that the internet reaches the server in front, on ports 80 and 443.");
  });
});

describe("the steps of a host", () => {
  test("are the fixes of what was found, with the time that DNS takes, while its records are wrong", () => {
    const host = hostIn({}, { state: "pending_dns", reasons: [wrong] });
    expect(stepsFor(host, "manual")).toEqual(["Change it.", PROPAGATION]);
    expect(stepsFor(host, "manual", { isNamed: true })[0]).toBe(
      "The record points to the wrong target. Change it.",
    );
    expect(causeOf(host)).toBe("The record points to the wrong target.");
  });

  test("are only the fixes for a live host", () => {
    expect(stepsFor(hostIn({ state: "live" }, { reasons: [wrong] }), "manual")).toEqual(["Change it."]);
    expect(stepsFor(hostIn({ state: "live" }), "manual")).toEqual([]);
    expect(causeOf(hostIn({ state: "live" }))).toBeUndefined();
  });

  test("do not advise on the records if DNS did not answer; what needs attention still does", () => {
    const seen = { state: "unknown", certificate: "unknown" } as const;
    expect(stepsFor(hostIn({}, seen), "manual").join()).toMatch(/^Retry, or use another resolver/);
    const late = hostIn({ state: "needs_attention", attention: "certificate_overdue" }, seen);
    expect(stepsFor(late, "manual")).toContain(
      "No certificate has been issued 30 minutes after verification.",
    );
    expect(causeOf(late)).toBe("No certificate has been issued 30 minutes after verification.");
  });
});

describe("the progress", () => {
  const unreachable: CertificateCheck = { outcome: "unreachable", found: "no TLS" };
  const valid: CertificateCheck = { outcome: "valid", expiresAt: Date.UTC(2027, 0, 31, 23) };
  const stepsOf = (host: SeenHost) =>
    describeProgress(host).map(({ name, status, detail }) => `${name}: ${status} ${detail}`.trim());

  test.each<[string, SeenHost, readonly string[]]>([
    [
      "a wrong record",
      hostIn({}, { certificate: "unknown", reasons: [{ ...wrong, code: "caa_forbids" }, wrong] }),
      ["record: current CNAME old", "verified: next", "certificate: next", "live: next"],
    ],
    [
      "no lookup",
      hostIn({}),
      ["record: current not checked", "verified: next", "certificate: next", "live: next"],
    ],
    [
      "no answer about CAA records",
      hostIn({ state: "verified" }, { found: "CNAME t", certificate: "unknown", served: unreachable }),
      [
        "record: done CNAME t",
        "verified: done the lookup of CAA records failed",
        "certificate: current no TLS",
        "live: next",
      ],
    ],
    [
      "a requested certificate",
      hostIn({ state: "certificate_pending" }, { found: "CNAME t", served: unreachable }),
      ["record: done CNAME t", "verified: done", "certificate: current awaited; no TLS", "live: next"],
    ],
    [
      "a live host",
      hostIn({ state: "live" }, { found: "CNAME t", served: valid }),
      ["record: done CNAME t", "verified: done", "certificate: done valid until 2027-01-31", "live: done"],
    ],
  ])("of %s", (_name, host, expected) => {
    expect(stepsOf(host)).toEqual(expected);
  });

  test.each([
    ["dns_broken", ["failed", "next", "next"]],
    ["validation_timed_out", ["failed", "next", "next"]],
    ["certificate_failed", ["done", "done", "failed"]],
    ["certificate_forbidden", ["done", "done", "failed"]],
    ["certificate_overdue", ["done", "done", "failed"]],
  ] as const)("fails where %s is", (attention, expected) => {
    const steps = describeProgress(hostIn({ state: "needs_attention", attention }));
    expect(steps.map(({ status }) => status)).toEqual([...expected, "next"]);
  });
});
