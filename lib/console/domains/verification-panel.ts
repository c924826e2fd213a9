import { html } from "hono/html";
import type { Clock } from "../../clock.ts";
import { CERTIFICATE_TIMEOUT_MS } from "../../domains/lifecycle.ts";
import { PROPAGATION } from "../../domains/verification/advice.ts";
import { REASONS, type Reason } from "../../domains/verification/reasons.ts";
import { withoutImplied } from "../../domains/verification/report.ts";
import type { HostToVerify } from "../../domains/verification/verify-hosts.ts";
import { createHostScreen, type Step } from "../../domains/watch/screen.ts";
import { changeForm } from "../form.ts";
import { type Html, pathOf, type View } from "../section.ts";
import { formatDuration, formatInstant } from "../text.ts";
import type { DomainsOptions } from "./domains-source.ts";
import { nextSteps } from "./next-steps.ts";
import type { CheckedHost } from "./progress.ts";

/** The verification of a host: its state, every reason, what to do, and its progress to live. */
export function verificationPanel(
  view: View,
  host: HostToVerify,
  checked: CheckedHost | undefined,
  { source, clock }: { readonly source: DomainsOptions["source"]["kind"]; readonly clock: Clock },
): Html {
  const again = checked?.domain.state === "needs_attention";
  const button = html`<button class="main">${again ? "Re-verify" : checked === undefined ? "Verify" : "Verify again"}</button>`;
  const canVerify = host.target !== undefined || source === "stack";
  const action = pathOf(view, "domains", host.host, again ? "reverify" : "verify");
  return html`<section class="panel" aria-labelledby="verification-title" id="verification">
    <div class="head">
      <div><h2 id="verification-title">Verification</h2>${checked === undefined ? "" : lookedUp(checked)}</div>
      ${canVerify ? html`<div id="${again ? "reverify" : "verify"}">${changeForm(view, action, button)}</div>` : ""}
    </div>
    ${checked === undefined ? html`<p>Set the record, then choose Verify. ${PROPAGATION}</p>` : result(checked, source, clock)}
  </section>`;
}

function lookedUp({ checkedAt }: CheckedHost): Html {
  return html`<p class="small">Looked up at <span class="number">${formatInstant(checkedAt)}</span>.</p>`;
}

function result(checked: CheckedHost, source: DomainsOptions["source"]["kind"], clock: Clock): Html {
  const { domain, report, certificate } = checked;
  const { steps } = createHostScreen(domain, report, certificate);
  const todo = nextSteps(checked, source);
  return html`<ol class="steps" aria-label="Progress">${steps.map((step) => progressStep(step, checked))}</ol>
    ${deadline(checked, clock)}
    ${withoutImplied(report.reasons).map(reasonCard)}
    ${todo.length === 0 ? "" : html`<div class="todo"><h3>What to do</h3><ol>${todo.map((step) => html`<li>${step}</li>`)}</ol></div>`}`;
}

const STEP_NAMES: Readonly<Record<Step["name"], string>> = {
  record: "Record",
  verified: "Verified",
  certificate: "Certificate",
  live: "Live",
};

const STATUS_NAMES: Readonly<Record<Step["status"], readonly [mark: string, name: string]>> = {
  done: ["✓", "done"],
  current: ["…", "in progress"],
  failed: ["✕", "failed"],
  next: ["", "not reached"],
};

function progressStep({ name, status, detail }: Step, { domain }: CheckedHost): Html {
  const [mark, word] = STATUS_NAMES[status];
  const at = name === "verified" && domain.verifiedAt !== undefined ? formatInstant(domain.verifiedAt) : "";
  return html`<li class="${status}"${status === "current" ? html` aria-current="step"` : ""}>
    <span class="mark" aria-hidden="true">${mark}</span>
    <span><strong>${STEP_NAMES[name]}</strong> <span class="sr">${word}</span>
    <span class="quiet small detail">${[at, detail].filter(Boolean).join("; ")}</span></span>
  </li>`;
}

/** The 30-minute rule, while it runs. */
function deadline({ domain: { state, verifiedAt } }: CheckedHost, clock: Clock): Html | "" {
  if (verifiedAt === undefined || (state !== "verified" && state !== "certificate_pending")) return "";
  const left = formatDuration(verifiedAt + CERTIFICATE_TIMEOUT_MS - clock());
  return html`<p class="small">A certificate may take 30 minutes after verification. <span class="number">${left}</span>
    left; then the domain needs attention, and Re-verify starts a new attempt.</p>`;
}

function reasonCard({ code, found, expected, fix }: Reason): Html {
  return html`<div class="reason">
    <h3>${REASONS[code].title}</h3>
    <dl class="facts">
      <dt>Found</dt><dd><code>${found}</code></dd>
      <dt>Expected</dt><dd><code>${expected}</code></dd>
      <dt>Fix</dt><dd>${fix}</dd>
    </dl>
  </div>`;
}
