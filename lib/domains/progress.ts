import type { DomainState, TrackedDomain } from "./lifecycle.ts";
import type { CertificateCheck, HostObservation } from "./observation.ts";
import { REASONS } from "./verification/reasons.ts";

/** A step on the way of a host to live, as its owner experiences it. */
export interface ProgressStep {
  readonly name: "record" | "verified" | "certificate" | "live";
  readonly status: "done" | "current" | "failed" | "next";
  readonly detail: string;
}

/** The progress of a host to live, from its status and its last observation. Pure. */
export function describeProgress(
  domain: TrackedDomain,
  { verification, certificate }: HostObservation,
): readonly ProgressStep[] {
  const [problem] = verification.reasons.filter(({ code }) => REASONS[code].aspect === "dns");
  const caaFailed = domain.state !== "pending_dns" && verification.certificate === "unknown";
  const details = [
    ["record", verification.found ?? problem?.found ?? "not checked"],
    ["verified", caaFailed ? "the lookup of CAA records failed" : ""],
    ["certificate", describeCertificate(domain, certificate)],
    ["live", ""],
  ] as const;
  const [done, then] = stepsDone(domain);
  return details.map(([name, detail], index) => {
    return { name, status: index < done ? "done" : index === done ? then : "next", detail };
  });
}

/** How many steps are done, and the status of the one after them. */
function stepsDone({ state, attention }: TrackedDomain): [done: number, then: ProgressStep["status"]] {
  const steps: Readonly<Record<DomainState, [done: number, then: ProgressStep["status"]]>> = {
    pending_dns: [0, "current"],
    verified: [2, "current"],
    certificate_pending: [2, "current"],
    live: [4, "next"],
    needs_attention: [attention === "dns_broken" || attention === "validation_timed_out" ? 0 : 2, "failed"],
    removed: [0, "next"],
  };
  return steps[state];
}

function describeCertificate({ state }: TrackedDomain, check: CertificateCheck | undefined): string {
  if (check?.outcome === "valid")
    return `valid until ${new Date(check.expiresAt).toISOString().slice(0, 10)}`;
  if (state === "pending_dns" || state === "removed") return "";
  const seen = check === undefined ? "" : `; ${check.found}`;
  return state === "certificate_pending" ? `requested${seen}` : seen.slice(2);
}
