import { expect, test } from "vitest";
import { addDomain, type TrackedDomain } from "../../lib/domains/status/status.ts";
import { describeProgress } from "../../lib/domains/status/steps.ts";
import type { HostObservation } from "../../lib/domains/status/verify.ts";

const AT = Date.UTC(2026, 10, 20, 12);
const HOST = "orders.example.com";
const PENDING = addDomain(HOST, AT);

const right = { found: "CNAME target", certificate: "allowed", reasons: [] };
const observe = (verification: object, certificate?: object) =>
  ({ verification: { ...right, ...verification }, certificate }) as unknown as HostObservation;

/** The steps as `name: status detail`. */
const stepsOf = (domain: Partial<TrackedDomain>, observation: HostObservation) =>
  describeProgress({ ...PENDING, ...domain }, observation).map(({ name, status, detail }) =>
    [`${name}: ${status}`, detail].filter(Boolean).join(" "),
  );

test("a host without its record waits for it, and shows the first problem of its DNS", () => {
  const reasons = [
    { code: "caa_forbids", found: "CAA 0 issue" },
    { code: "wrong_target", found: "CNAME old" },
  ];
  expect(stepsOf({}, observe({ found: undefined, certificate: "unknown", reasons }))).toEqual([
    "record: current CNAME old",
    "verified: next",
    "certificate: next",
    "live: next",
  ]);
  expect(stepsOf({}, observe({ found: undefined }))[0]).toBe("record: current not checked");
});

test.each(["verified", "certificate_pending"] as const)(
  "a host that is %s waits for its certificate",
  (state) => {
    const steps = stepsOf(
      { state, verifiedAt: AT },
      observe({}, { outcome: "unreachable", found: "no TLS" }),
    );
    expect(steps).toEqual([
      "record: done CNAME target",
      "verified: done",
      `certificate: current ${state === "verified" ? "" : "requested; "}no TLS`,
      "live: next",
    ]);
  },
);

test("a failed lookup of CAA records is shown at the verification, but not before the host is verified", () => {
  const unknown = observe({ certificate: "unknown" });
  expect(stepsOf({ state: "verified", verifiedAt: AT }, unknown)[1]).toBe(
    "verified: done the lookup of CAA records failed",
  );
  expect(stepsOf({}, unknown)[1]).toBe("verified: next");
  expect(stepsOf({ state: "certificate_pending" }, unknown)[2]).toBe("certificate: current requested");
});

test("a live host has every step done, and shows the end of its certificate", () => {
  const valid = { outcome: "valid", expiresAt: Date.UTC(2027, 0, 31, 23) };
  expect(stepsOf({ state: "live", verifiedAt: AT }, observe({}, valid))).toEqual([
    "record: done CNAME target",
    "verified: done",
    "certificate: done valid until 2027-01-31",
    "live: done",
  ]);
});

test.each([
  ["dns_broken", ["failed", "next", "next"]],
  ["validation_timed_out", ["failed", "next", "next"]],
  ["certificate_failed", ["done", "done", "failed"]],
  ["certificate_forbidden", ["done", "done", "failed"]],
  ["certificate_overdue", ["done", "done", "failed"]],
] as const)("a host that needs attention because of %s has a failed step", (attention, expected) => {
  const steps = describeProgress({ ...PENDING, state: "needs_attention", attention }, observe({}));
  expect(steps.map(({ status }) => status)).toEqual([...expected, "next"]);
});

test("a removed host has every step before it", () => {
  const seen = observe({}, { outcome: "invalid", found: "another name" });
  expect(stepsOf({ state: "removed" }, seen)).toEqual([
    "record: next CNAME target",
    "verified: next",
    "certificate: next",
    "live: next",
  ]);
  expect(stepsOf({}, seen)[2]).toBe("certificate: next");
});
