import { html } from "hono/html";
import { formatDuration } from "../../core/text.ts";
import type { Instant } from "../../core/time.ts";
import { REASONS, type Reason, withoutImplied } from "../../domains/status/reasons.ts";
import { CERTIFICATE_TIMEOUT_MS, type DomainState } from "../../domains/status/status.ts";
import { describeProgress, PROPAGATION, type ProgressStep, stepsFor } from "../../domains/status/steps.ts";
import type { HostToVerify } from "../../domains/status/verify.ts";
import { changeForm } from "../form.ts";
import { formatInstant, type Html, panel, pathOf, type View } from "../page.ts";
import { DEPLOYMENT, type ObservedHost } from "./hosts.ts";

/** The verification of a host: its progress to live, every reason, and the next steps. */
export function verificationPanel(
  view: View,
  host: HostToVerify,
  checked: ObservedHost | undefined,
  now: Instant,
): Html {
  const at =
    checked &&
    html`<p class="small">Looked up at <span class="number">${formatInstant(checked.observedAt)}</span>.</p>`;
  const again = checked?.domain.state === "needs_attention";
  const button = html`<button class="main"${again ? html` name="again"` : ""}>${again ? "Re-verify" : checked === undefined ? "Verify" : "Verify again"}</button>`;
  const canVerify = host.target !== undefined;
  const form = changeForm(view, pathOf(view, "domains", host.host, "verify"), button);
  const body = !canVerify
    ? html`<p>${UNKNOWN_TARGET}</p>`
    : checked === undefined
      ? html`<p>Set the record, then choose Verify. ${PROPAGATION}</p>`
      : html`${at} ${result(checked, now)}`;
  return panel("verification", "Verification", body, canVerify ? { actions: form } : {});
}

/** What is missing in a console that was started without the host of the platform. */
export const UNKNOWN_TARGET = html`The console does not know the host name of the platform, to which the records point, so it
  can verify no domain. Start it again with <code>--target HOST</code>.`;

function result(checked: ObservedHost, now: Instant): Html {
  const steps = describeProgress(checked.domain, checked);
  const todo = nextSteps(checked);
  return html`<ol class="steps" aria-label="Progress">${steps.map((step) => progressStep(step, checked))}</ol>
    ${deadline(checked, now)}
    ${withoutImplied(checked.verification.reasons).map(reasonCard)}
    ${notesOf(checked.verification.notes)}
    ${todo.length === 0 ? "" : html`<h3>What to do</h3><ol class="plain-list">${todo.map((step) => html`<li>${step}</li>`)}</ol>`}`;
}

const STATUS_NAMES: Readonly<Record<ProgressStep["status"], readonly [mark: string, name: string]>> = {
  done: ["✓", "done"],
  current: ["…", "in progress"],
  failed: ["✕", "failed"],
  next: ["", "not reached"],
};

function progressStep({ name, status, detail }: ProgressStep, { domain }: ObservedHost): Html {
  const [mark, word] = STATUS_NAMES[status];
  const at = name === "verified" && domain.verifiedAt !== undefined ? formatInstant(domain.verifiedAt) : "";
  return html`<li class="${status}"${status === "current" ? html` aria-current="step"` : ""}>
    <span class="mark" aria-hidden="true">${mark}</span>
    <span><strong>${name}</strong> <span class="sr">${word}</span>
    <span class="quiet small detail">${[at, detail].filter(Boolean).join("; ")}</span></span>
  </li>`;
}

/** The 30-minute rule, while it runs. */
function deadline({ domain: { state, verifiedAt } }: ObservedHost, now: Instant): Html | "" {
  if (verifiedAt === undefined || (state !== "verified" && state !== "certificate_pending")) return "";
  const left = formatDuration(verifiedAt + CERTIFICATE_TIMEOUT_MS - now);
  return html`<p class="small">A certificate may take 30 minutes after verification. <span class="number">${left}</span>
    left; then the domain needs attention, and Re-verify starts a new attempt.</p>`;
}

/** Facts that change no state. */
export function notesOf(notes: readonly string[]): readonly Html[] {
  return notes.map((note) => html`<p class="small">${note}</p>`);
}

function reasonCard({ code, found, expected }: Reason): Html {
  return html`<div class="reason">
    <h3>${REASONS[code].title}</h3>
    <dl class="facts">
      <dt>Found</dt><dd><code>${found}</code></dd>
      <dt>Expected</dt><dd><code>${expected}</code></dd>
    </dl>
  </div>`;
}

/** What to do for a host, one step per entry. */
export function nextSteps({ domain, verification: { state, reasons } }: ObservedHost): readonly string[] {
  const fixes = withoutImplied(reasons).map(({ fix }) => fix);
  const isUnknown = state === "unknown" && domain.state !== "live";
  return stepsFor(isUnknown ? { state } : domain, fixes, DEPLOYMENT);
}

const STATES: Readonly<Record<DomainState, readonly [level: string, name: string]>> = {
  pending_dns: ["warn", "Waiting for DNS"],
  verified: ["good", "Verified"],
  certificate_pending: ["warn", "Certificate pending"],
  live: ["good", "Live"],
  needs_attention: ["bad", "Needs attention"],
  removed: ["calm", "Removed"],
};

/** The state of a host as a badge, as this console has verified it. */
export function hostState(checked: ObservedHost | undefined): Html {
  if (checked === undefined) return html`<span class="badge calm">Not verified yet</span>`;
  const { state } = checked.domain;
  const isUnknown = checked.verification.state === "unknown" && state !== "live";
  const [level, name] = isUnknown ? ["warn", "DNS did not answer"] : STATES[state];
  return html`<span class="badge ${level}">${name}</span>`;
}
