import type { TrackedDomain } from "./lifecycle.ts";
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
  const record = verification.found ?? problem?.found ?? "not checked";
  const caaFailed = domain.state !== "pending_dns" && verification.certificate === "unknown";
  const verified = caaFailed ? "the lookup of CAA records failed" : "";
  const statuses = statusesOf(domain);
  return [
    { name: "record", status: statuses.record, detail: record },
    { name: "verified", status: statuses.verified, detail: verified },
    { name: "certificate", status: statuses.certificate, detail: describeCertificate(domain, certificate) },
    { name: "live", status: domain.state === "live" ? "done" : "next", detail: "" },
  ];
}

type StepStatuses = Readonly<Record<"record" | "verified" | "certificate", ProgressStep["status"]>>;

function statusesOf({ state, attention }: TrackedDomain): StepStatuses {
  switch (state) {
    case "pending_dns":
      return { record: "current", verified: "next", certificate: "next" };
    case "verified":
    case "certificate_pending":
      return { record: "done", verified: "done", certificate: "current" };
    case "live":
      return { record: "done", verified: "done", certificate: "done" };
    case "needs_attention":
      if (attention === "dns_broken" || attention === "validation_timed_out") {
        return { record: "failed", verified: "next", certificate: "next" };
      }
      return { record: "done", verified: "done", certificate: "failed" };
    case "removed":
      return { record: "next", verified: "next", certificate: "next" };
  }
}

function describeCertificate({ state }: TrackedDomain, check: CertificateCheck | undefined): string {
  if (check?.outcome === "valid")
    return `valid until ${new Date(check.expiresAt).toISOString().slice(0, 10)}`;
  if (state === "pending_dns" || state === "removed") return "";
  const seen = check === undefined ? "" : `; ${check.found}`;
  return state === "certificate_pending" ? `requested${seen}` : seen.slice(2);
}
