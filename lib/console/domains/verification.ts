import { html } from "hono/html";
import { formatDuration } from "../../core/text.ts";
import type { Instant } from "../../core/time.ts";
import { REASONS, type Reason, withoutImplied } from "../../domains/status/reasons.ts";
import { CERTIFICATE_TIMEOUT_MS, type HostState } from "../../domains/status/status.ts";
import {
  causeOf,
  describeProgress,
  isUnanswered,
  PROPAGATION,
  type ProgressStep,
  STATE_NAMES,
  stepsFor,
} from "../../domains/status/steps.ts";
import type { HostToVerify } from "../../domains/status/verify.ts";
import { changeForm } from "../form.ts";
import { formatInstant, type Html, panel, pathOf, type View } from "../page.ts";
import { type CheckedHost, DEPLOYMENT } from "./hosts.ts";

/** The verification of a host: its progress to live, every reason, and the next steps. */
export function verificationPanel(
  view: View,
  host: HostToVerify,
  checked: CheckedHost | undefined,
  now: Instant,
): Html {
  const again = checked?.status.state === "needs_attention" ? "Re-verify" : "Verify again";
  const form = changeForm(
    view,
    pathOf(view, "domains", host.host, "verify"),
    html`<button class="main">${again}</button>`,
  );
  const canVerify = host.target !== undefined;
  const body = !canVerify
    ? html`<p>${UNKNOWN_TARGET}</p>`
    : checked === undefined
      ? html`<p>The host is being looked up. ${PROPAGATION}</p>`
      : html`<p class="small">Looked up at <span class="number">${formatInstant(checked.observedAt)}</span>.</p> ${result(checked, now)}`;
  return panel("verification", "Verification", body, canVerify ? { actions: form } : {});
}

/** What is missing in a console that was started without the host of the platform. */
export const UNKNOWN_TARGET = html`The console does not know the host name of the platform, to which the records point, so it
  can verify no domain. Start it again with <code>--target HOST</code>, or for one machine with <code>--address IP</code>.`;

function result(checked: CheckedHost, now: Instant): Html {
  const { reasons, notes } = checked.seen;
  const todo = stepsFor(checked, DEPLOYMENT);
  return html`<ol class="steps" aria-label="Progress">${describeProgress(checked).map((step) => progressStep(step, checked))}</ol>
    ${deadline(checked, now)}
    ${withoutImplied(reasons).map(reasonCard)}
    ${notesOf(notes)}
    ${todo.length === 0 ? "" : html`<h3>What to do</h3><ol class="plain-list">${todo.map((step) => html`<li>${step}</li>`)}</ol>`}`;
}

const STATUS_NAMES: Readonly<Record<ProgressStep["status"], readonly [mark: string, name: string]>> = {
  done: ["✓", "done"],
  current: ["…", "in progress"],
  failed: ["✕", "failed"],
  next: ["", "not reached"],
};

function progressStep({ name, status, detail }: ProgressStep, checked: CheckedHost): Html {
  const [mark, word] = STATUS_NAMES[status];
  const { verifiedAt } = checked.status;
  const at = name === "verified" && verifiedAt !== undefined ? formatInstant(verifiedAt) : "";
  return html`<li class="${status}"${status === "current" ? html` aria-current="step"` : ""}>
    <span class="mark" aria-hidden="true">${mark}</span>
    <span><strong>${name}</strong> <span class="sr">${word}</span>
    <span class="quiet small detail">${[at, detail].filter(Boolean).join("; ")}</span></span>
  </li>`;
}

/** The 30-minute rule, while it runs. */
function deadline({ status: { state, verifiedAt } }: CheckedHost, now: Instant): Html | "" {
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

const LEVELS: Readonly<Record<HostState, string>> = {
  pending_dns: "warn",
  verified: "good",
  certificate_pending: "warn",
  live: "good",
  needs_attention: "bad",
};

/** The state of a host as a badge, as this console has last seen it. */
export function stateBadge(host: HostToVerify, checked: CheckedHost | undefined): Html {
  if (checked === undefined) {
    const text = host.target === undefined ? "Not verified" : "Looking up…";
    return html`<span class="badge calm">${text}</span>`;
  }
  const { state } = checked.status;
  if (isUnanswered(checked)) return html`<span class="badge warn">DNS did not answer</span>`;
  return html`<span class="badge ${LEVELS[state]}">${STATE_NAMES[state]}</span>`;
}

/** The cause of the state of a host, and what to do first. */
export function nextStep(checked: CheckedHost | undefined): Html {
  if (checked === undefined) return html``;
  const cause = causeOf(checked) ?? "";
  // Unless it is the cause itself.
  const step = stepsFor(checked, DEPLOYMENT).find((each) => each !== cause) ?? "";
  return html`${cause && html`<strong>${cause}</strong>`} <span class="quiet">${step}</span>`;
}
