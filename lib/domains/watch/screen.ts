import type { Instant } from "../../clock.ts";
import type { TrackedDomain } from "../lifecycle.ts";
import type { HostRole } from "../mapping.ts";
import { adviceFor, PROPAGATION } from "../verification/advice.ts";
import { REASONS } from "../verification/reasons.ts";
import { withoutImplied } from "../verification/report.ts";
import type { HostReport } from "../verification/verify-hosts.ts";
import type { CertificateCheck } from "./certificate-check.ts";

/** A step of the lifecycle as the owner of a domain experiences it. */
export interface Step {
  readonly name: "record" | "verified" | "certificate" | "live";
  readonly status: "done" | "current" | "failed" | "next";
  readonly detail: string;
  /** When the step was reached, to show the time since then. */
  readonly at?: Instant;
}

/** What there is to see about a host. */
export interface HostScreen {
  readonly host: string;
  readonly role: HostRole;
  readonly domain: TrackedDomain;
  readonly steps: readonly Step[];
  /** What to do now, one step per entry. Empty if there is nothing to do. */
  readonly todo: readonly string[];
  /** Changes when there is something new to say about the host. */
  readonly news: string;
}

/** Describes a host from its status and what was observed last. Pure. */
export function createHostScreen(
  domain: TrackedDomain,
  report: HostReport,
  certificate: CertificateCheck | undefined,
): HostScreen {
  const { host, role, reasons, found } = report;
  const [problem] = reasons.filter(({ code }) => REASONS[code].aspect === "dns");
  const verified = domain.verifiedAt === undefined ? {} : { at: domain.verifiedAt };
  const status = statusesOf(domain);
  return {
    host,
    role,
    domain,
    steps: [
      { name: "record", status: status.record, detail: found ?? problem?.found ?? "not checked" },
      { name: "verified", status: status.verified, detail: describeVerified(domain, report), ...verified },
      { name: "certificate", status: status.certificate, detail: describeCertificate(domain, certificate) },
      { name: "live", status: domain.state === "live" ? "done" : "next", detail: "" },
    ],
    todo: todoFor(domain, report),
    news: [domain.state, domain.attention, ...reasons.map(({ code, found }) => `${code} ${found}`)].join(
      "\n",
    ),
  };
}

type StepStatuses = Readonly<Record<"record" | "verified" | "certificate", Step["status"]>>;

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

function describeVerified({ state }: TrackedDomain, { certificate }: HostReport): string {
  if (state === "pending_dns") return "";
  return certificate === "unknown" ? "the lookup of CAA records failed" : "";
}

function describeCertificate({ state }: TrackedDomain, check: CertificateCheck | undefined): string {
  if (check?.outcome === "valid")
    return `valid until ${new Date(check.expiresAt).toISOString().slice(0, 10)}`;
  if (state === "pending_dns" || state === "removed") return "";
  const seen = check === undefined ? "" : `; ${check.found}`;
  return state === "certificate_pending" ? `requested${seen}` : seen.slice(2);
}

/** The record to fix while it is wrong, the three checks if no certificate is issued, otherwise the advice. */
function todoFor(domain: TrackedDomain, report: HostReport): readonly string[] {
  const { state, attention } = domain;
  const { reasons, certificate } = report;
  const fixes = withoutImplied(reasons).map(({ code, fix }) => `${REASONS[code].title} ${fix}`);
  if (state === "live") {
    return certificate === "forbidden" ? [`The certificate cannot be renewed. ${fixes.join(" ")}`] : [];
  }
  if (state === "pending_dns") return [...fixes, PROPAGATION];
  if (state !== "needs_attention") return fixes.length === 0 ? adviceFor(domain) : fixes;
  if (attention === "certificate_overdue" || attention === "certificate_failed") {
    return certificateChecks(domain, report);
  }
  return [...fixes, ...adviceFor(domain)];
}

/** The three checks, each with its result. */
function certificateChecks(domain: TrackedDomain, report: HostReport): readonly string[] {
  const { host, dns, certificate, reasons } = report;
  const fixesOf = (aspect: "dns" | "certificate") =>
    reasons.filter(({ code }) => REASONS[code].aspect === aspect).map(({ fix }) => ` ${fix}`);
  const verifies = { ok: "Yes.", unknown: "Unknown, because the DNS lookup failed." };
  const forbids = { allowed: "No.", forbidden: "Yes.", unknown: "Unknown, because the DNS lookup failed." };
  return [
    adviceFor(domain)[0] ?? "",
    `1. Does ${host} still verify? ${dns === "ok" || dns === "unknown" ? verifies[dns] : "No."}${fixesOf("dns").join("")}`,
    `2. Do CAA records forbid the certificate authority? ${forbids[certificate]}${fixesOf("certificate").join("")}`,
    `3. Request a new certificate: increase the number of ${host} under store-orders:reverify in the stack configuration and deploy. Then run 'store-orders domains watch' with --reverify.`,
  ];
}
