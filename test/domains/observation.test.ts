import { describe, expect, test } from "vitest";
import {
  type AttentionReason,
  addDomain,
  advanceDomain,
  CERTIFICATE_TIMEOUT_MS,
  type DomainObservation,
  type DomainState,
  type TrackedDomain,
  VALIDATION_TIMEOUT_MS,
} from "../../lib/domains/status/status.ts";
import { observeHosts } from "../../lib/domains/status/verify.ts";
import type { DnsResolver } from "../../lib/domains/verification/resolver.ts";

const HOST = "orders.example.com";
const NOON = Date.UTC(2026, 10, 20, 12);
const added = addDomain(HOST, NOON);

const verification = (
  state: DomainObservation["verification"]["state"],
  dns: DomainObservation["verification"]["dns"] = "ok",
  certificate: DomainObservation["verification"]["certificate"] = "allowed",
) => ({ state, dns, certificate });

const VALID = { outcome: "valid", expiresAt: NOON * 2 } as const;
const OTHER = { outcome: "invalid", code: "wrong_host", found: "a certificate for another host" } as const;
const UNREACHABLE = { outcome: "unreachable", found: "no TLS connection" } as const;

const SEEN = {
  missing: { verification: verification("pending_dns", "missing") },
  disagreeing: { verification: verification("pending_dns", "disagreement") },
  unanswered: { verification: verification("unknown", "unknown", "unknown") },
  verified: { verification: verification("verified"), certificate: OTHER },
  unreachable: { verification: verification("verified"), certificate: UNREACHABLE },
  forbidden: { verification: verification("needs_attention", "ok", "forbidden"), certificate: OTHER },
  caaUnanswered: { verification: verification("unknown", "ok", "unknown"), certificate: OTHER },
  served: { verification: verification("verified"), certificate: VALID },
  servedButForbidden: {
    verification: verification("needs_attention", "ok", "forbidden"),
    certificate: VALID,
  },
  servedCaaUnanswered: { verification: verification("unknown", "ok", "unknown"), certificate: VALID },
} as const satisfies Record<string, DomainObservation>;

function statesAfter(domain: TrackedDomain, seen: keyof typeof SEEN, at = NOON + 1): readonly DomainState[] {
  return advanceDomain(domain, SEEN[seen], at).map(({ state }) => state);
}

const domainIn = (state: DomainState, attention?: AttentionReason): TrackedDomain => ({
  ...added,
  state,
  ...(state === "pending_dns" ? {} : { verifiedAt: NOON }),
  ...(attention === undefined ? {} : { attention }),
});

test.each(["pending_dns", "verified", "live"] as const)(
  "name servers that disagree leave a domain %s, because one of them is right",
  (state) => {
    expect(statesAfter(domainIn(state), "disagreeing")).toEqual([state]);
  },
);

test("observeHosts reads only the certificates of hosts whose records point to the platform", async () => {
  const target = "platform.example.net";
  const resolver = (async (name: string, type: string) => {
    if (type === "CNAME" && name === HOST) return { outcome: "found", records: [target] };
    if (type === "A" && name === target) return { outcome: "found", records: ["192.0.2.1"] };
    return { outcome: "nodata" };
  }) as DnsResolver;
  const probed: string[] = [];
  const probe = async (host: string) => {
    probed.push(host);
    return VALID;
  };
  const hosts = [HOST, "www.example.com"].map((host) => ({ host, role: "primary" }) as const);
  const observed = await observeHosts(hosts, { resolver, target, probe });
  expect(probed).toEqual([HOST]);
  expect(observed).toMatchObject([
    { verification: { host: HOST, dns: "ok" }, certificate: VALID },
    { verification: { host: "www.example.com", dns: "missing" } },
  ]);
  expect(observed[1]).not.toHaveProperty("certificate");
});

describe("advanceDomain", () => {
  test.each<[DomainState, keyof typeof SEEN, readonly DomainState[]]>([
    ["pending_dns", "missing", ["pending_dns"]],
    ["pending_dns", "unanswered", ["pending_dns"]],
    ["pending_dns", "verified", ["verified", "certificate_pending"]],
    ["pending_dns", "unreachable", ["verified", "certificate_pending"]],
    ["pending_dns", "forbidden", ["needs_attention"]],
    ["pending_dns", "caaUnanswered", ["verified"]],
    ["pending_dns", "served", ["verified", "certificate_pending", "live"]],
    ["pending_dns", "servedButForbidden", ["needs_attention", "live"]],
    ["pending_dns", "servedCaaUnanswered", ["verified", "certificate_pending", "live"]],
    ["verified", "missing", ["pending_dns"]],
    ["verified", "caaUnanswered", ["verified"]],
    ["verified", "verified", ["certificate_pending"]],
    ["certificate_pending", "missing", ["pending_dns"]],
    ["certificate_pending", "unanswered", ["certificate_pending"]],
    ["certificate_pending", "unreachable", ["certificate_pending"]],
    ["certificate_pending", "forbidden", ["needs_attention"]],
    ["certificate_pending", "served", ["live"]],
    ["live", "unanswered", ["live"]],
    ["live", "unreachable", ["live"]],
    ["live", "forbidden", ["needs_attention"]],
    ["live", "servedButForbidden", ["live"]],
    ["live", "verified", ["needs_attention"]],
    ["live", "missing", ["needs_attention"]],
    ["live", "served", ["live"]],
    ["removed", "served", ["removed"]],
  ])("a domain in state %s that is observed as %s passes through %j", (state, seen, expected) => {
    expect(statesAfter(domainIn(state), seen)).toEqual(expected);
  });

  test.each<[AttentionReason, keyof typeof SEEN, readonly DomainState[]]>([
    ["certificate_forbidden", "forbidden", ["needs_attention"]],
    ["certificate_forbidden", "caaUnanswered", ["needs_attention"]],
    ["certificate_forbidden", "missing", ["needs_attention"]],
    ["certificate_forbidden", "verified", ["pending_dns", "verified", "certificate_pending"]],
    ["dns_broken", "missing", ["needs_attention"]],
    ["dns_broken", "unanswered", ["needs_attention"]],
    ["dns_broken", "served", ["pending_dns", "verified", "certificate_pending", "live"]],
    ["certificate_failed", "verified", ["needs_attention"]],
    ["certificate_failed", "served", ["live"]],
    ["certificate_overdue", "verified", ["needs_attention"]],
    ["certificate_overdue", "served", ["live"]],
    ["validation_timed_out", "verified", ["needs_attention"]],
    ["validation_timed_out", "served", ["live"]],
  ])(
    "a domain that needs attention because of %s and is observed as %s passes through %j",
    (attention, seen, expected) => {
      expect(statesAfter(domainIn("needs_attention", attention), seen)).toEqual(expected);
    },
  );

  test("a certificate that is late by the 30 minutes needs attention, and is live once it is served", () => {
    const due = NOON + CERTIFICATE_TIMEOUT_MS;
    expect(statesAfter(domainIn("certificate_pending"), "verified", due - 1)).toEqual([
      "certificate_pending",
    ]);
    expect(statesAfter(domainIn("certificate_pending"), "verified", due)).toEqual(["needs_attention"]);
    expect(statesAfter(domainIn("certificate_pending"), "served", due)).toEqual(["needs_attention", "live"]);
  });

  test("a domain without a record for 72 hours needs attention", () => {
    const due = NOON + VALIDATION_TIMEOUT_MS;
    expect(statesAfter(added, "missing", due - 1)).toEqual(["pending_dns"]);
    expect(advanceDomain(added, SEEN.missing, due)).toMatchObject([
      { state: "needs_attention", attention: "validation_timed_out", since: due },
    ]);
  });

  test("a domain that does not change is returned as it is", () => {
    expect(advanceDomain(added, SEEN.missing, NOON + 5)[0]).toBe(added);
  });
});

test("a verified host whose certificate was not checked waits for it", () => {
  const seen = { verification: verification("verified") };
  expect(advanceDomain(added, seen, NOON + 1).map(({ state }) => state)).toEqual([
    "verified",
    "certificate_pending",
  ]);
});
